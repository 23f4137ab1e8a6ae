import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { trackedFiles } from '#dev/tracked-files.ts';
import { SETTINGS } from '#shared/config/settings.ts';
import { sourceFiles } from '#test/architecture/source-files.ts';
import { anchorsOf, type Page, pages, readPage, resolveLink, ROOT, shellText } from './pages.ts';

const all = pages();
const LINK = /\]\(([^()\s]+)\)/g;

/** References of the pages that lead nowhere, as `page: reference`. */
function broken(found: (page: Page) => string[]): string[] {
  return all.flatMap((page) => found(page).map((what) => `${page.path}: ${what}`));
}

describe('the pages', () => {
  it('the pages link to files and headings that exist', () => {
    const dead = broken((page) =>
      [...page.prose.matchAll(LINK)]
        .map(([, target = '']) => target)
        .filter((target) => !/^[a-z]+:/.test(target))
        .filter((target) => {
          const [file = '', anchor] = target.split('#');
          const path = file === '' ? page.path : resolveLink(page, file);
          if (!existsSync(join(ROOT, path))) return true;
          if (anchor === undefined || !path.endsWith('.md')) return false;
          return !anchorsOf(readPage(path)).has(anchor);
        }),
    );
    expect(dead).toEqual([]);
  });

  it('the pages name files and folders that exist', () => {
    // Who follows them may have made folders beside these.
    const tops = trackedFiles(ROOT).map((path) => path.split('/', 1)[0]!);
    const folders = [...new Set(tops)].filter((name) => !name.includes('.'));
    const missing = broken((page) =>
      page.spans
        .flatMap((span) => span.split(/\s+/))
        .filter((word) => folders.some((folder) => word.startsWith(`${folder}/`)))
        // After a placeholder or a pattern the reader fills in the rest.
        .map((word) => word.replace(/[<{*…].*$/, '').replace(/[,;:.]$/, ''))
        .filter(
          (path) => !existsSync(join(ROOT, path.replace(/\/[^/]*$/, '/'))) || isFileGone(path),
        ),
    );
    expect(missing).toEqual([]);
  });

  it('the pages name environment variables that exist', () => {
    const known = new Set<string>(
      // A secret may be in a file.
      Object.values(SETTINGS).flatMap(({ name, secret }) =>
        secret ? [name, `${name}_FILE`] : name,
      ),
    );
    // Variables beside the settings: the sandbox has its own, and a catalogue may name any.
    const sources = sourceFiles().filter(({ path }) => !/^(test|lab)\//.test(path));
    const read = (name: string): boolean => sources.some(({ text }) => text.includes(`'${name}'`));
    const unknown = broken((page) => {
      const own = (name: string): boolean =>
        new RegExp(`(export |\\bapi_key_env: |\\$\\{|\\b)${name}(=|:|\\}| |\\n)`).test(
          page.fences.map(({ text }) => text).join('\n'),
        );
      const names = shellText(page).flatMap((text) => [
        ...text.matchAll(/(?<![\w.{<-])([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?![\w>])/g),
      ]);
      return [...new Set(names.map(([, name = '']) => name))].filter(
        (name) => !known.has(name) && !own(name) && !read(name),
      );
    });
    expect(unknown).toEqual([]);
  });

  it('ARCHITECTURE.md shows the folders of two levels as they are', () => {
    const tree = readPage('ARCHITECTURE.md').fences.find(({ text }) => text.startsWith('api/'));
    const shown = new Set<string>();
    let top = '';
    for (const line of tree!.text.trimEnd().split('\n')) {
      if (!line.startsWith(' ')) shown.add((top = line.slice(0, line.indexOf('/'))));
      else
        for (const [, name] of line.matchAll(/([a-z]+)\/(?=[ ,;]|$)/g)) shown.add(`${top}/${name}`);
    }
    const folders = sourceFiles().map(({ path }) => path.split('/').slice(0, -1).slice(0, 2));
    const present = folders.flatMap((path) => path.map((_, i) => path.slice(0, i + 1).join('/')));
    // Pages, files of operators and data of tests, where no source is.
    const others = [
      'docs',
      'docs/catalogue',
      'docs/spec',
      'ops',
      'ops/prometheus',
      'ops/grafana',
      'ops/helm',
      'ops/compose',
      'ops/proxies',
      'ops/systemd',
    ];
    others.push('test/fixtures', 'test/vectors');
    expect([...shown].toSorted()).toEqual([...new Set([...present, ...others])].toSorted());
  });

  it('every page is in the index', () => {
    const index = readPage('docs/README.md');
    const listed = [...index.prose.matchAll(LINK)].map(([, target = '']) =>
      resolveLink(index, target),
    );
    const docs = all.map(({ path }) => path).filter((path) => path.startsWith('docs/'));
    expect(docs.filter((path) => path !== index.path && !listed.includes(path))).toEqual([]);
  });
});

/** True for a path that names a file, not a pattern's beginning, and is not there. */
function isFileGone(path: string): boolean {
  return /\.[a-z]+$/.test(path) && !existsSync(join(ROOT, path));
}
