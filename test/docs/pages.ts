import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

export const ROOT = join(import.meta.dirname, '../..');

export interface Page {
  /** Relative to the repository, with slashes. */
  path: string;
  text: string;
  /** The text without fenced code. */
  prose: string;
  /** Texts between single backticks, outside of fences. */
  spans: string[];
  fences: { language: string; text: string }[];
}

const FENCE = /^```(\w*)[^\n]*\n([^]*?)^```$/gm;

/** Every page that people read. Data of tests is not for them. */
export function pages(): Page[] {
  const top = readdirSync(ROOT).filter((name) => name.endsWith('.md'));
  const docs = readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name));
  return [...top, 'lab/README.md', ...docs]
    .toSorted()
    .map((path) => readPage(path.replaceAll('\\', '/')));
}

export function readPage(path: string): Page {
  const text = readFileSync(join(ROOT, path), 'utf8');
  const fences = [...text.matchAll(FENCE)].map(([, language = '', code = '']) => ({
    language,
    text: code,
  }));
  const prose = text.replaceAll(FENCE, '');
  const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return { path, text, prose, spans, fences };
}

/** Commands that a reader may type: shell fences (and those without a language), and spans. */
export function shellText({ spans, fences }: Page): string[] {
  const shell = fences.filter(({ language }) => ['', 'sh', 'bash', 'console'].includes(language));
  return [...spans, ...shell.map(({ text }) => text)];
}

/** As GitHub makes anchors of headings: lower case, punctuation gone, blanks to hyphens, repeats numbered. */
export function anchorsOf({ prose }: Page): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const slug = heading
      .trim()
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n += 1) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Path of `target` as a link on the page means it, relative to the repository. */
export function resolveLink(page: Page, target: string): string {
  return relative(ROOT, join(ROOT, page.path, '..', target)).replaceAll('\\', '/');
}
