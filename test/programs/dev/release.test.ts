import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cutChangelog, notesOf } from '#dev/release/changelog.ts';
import { refusedLicences } from '#dev/release/licences.ts';
import { release } from '#dev/release/release.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CHANGELOG = `# Changelog

## [Unreleased]

What will be 0.2.0.

### Added

- **Lamp.** It turns.

## [0.1.0] - 2026-01-01

- The first.
`;

describe('the changelog of a release', () => {
  it('has what was unreleased under the version and its day, and nothing unreleased', () => {
    const cut = cutChangelog(CHANGELOG, '0.2.0', '2026-11-23');
    expect(cut).toContain('## [Unreleased]\n\n## [0.2.0] - 2026-11-23\n\n### Added\n\n- **Lamp.**');
    expect(cut).toContain('\n\n## [0.1.0] - 2026-01-01\n\n- The first.\n');
    expect(cut).not.toContain('What will be');
    expect(notesOf(cut, '0.2.0')).toBe('### Added\n\n- **Lamp.** It turns.');
    expect(notesOf(cut, '0.1.0')).toBe('- The first.');
  });

  it('is refused for a version that is there, and when there is nothing to release', () => {
    expect(() => cutChangelog(CHANGELOG, '0.1.0', 'x')).toThrow('0.1.0 already');
    const cut = cutChangelog(CHANGELOG, '0.2.0', 'x');
    expect(() => cutChangelog(cut, '0.3.0', 'x')).toThrow('nothing under [Unreleased]');
    expect(() => cutChangelog('# Changelog\n', '0.3.0', 'x')).toThrow('nothing');
  });

  it('can be cut from the one that is here', () => {
    const text = readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8');
    expect(notesOf(cutChangelog(text, '999.0.0', 'x'), '999.0.0')).toMatch(/^### Added\n/);
  });
});

describe('the licences of a release', () => {
  const of = (...licences: object[]) =>
    refusedLicences({ components: [{ name: 'a', version: '1.0.0', licenses: licences }] });

  it('are those that a product under Apache-2.0 can carry', () => {
    expect(of({ license: { id: 'MIT' } })).toEqual([]);
    expect(of({ expression: '(GPL-3.0-only OR MIT)' })).toEqual([]);
    expect(of({ expression: '(MIT AND GPL-3.0-only)' })).toHaveLength(1);
    expect(of({ license: { id: 'AGPL-3.0-only' } })).toEqual(['a@1.0.0: AGPL-3.0-only']);
    expect(of()).toEqual(['a@1.0.0: none']);
  });

  it('are stated and carried by everything that is installed with the product', () => {
    const bill = execFileSync('npm', ['sbom', '--sbom-format=cyclonedx', '--omit=dev'], {
      cwd: ROOT,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    expect(refusedLicences(JSON.parse(bill))).toEqual([]);
  });
});

describe('a release', () => {
  let root: string;
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const read = (path: string): string => readFileSync(join(root, path), 'utf8');
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'docket-release-'));
    const about = { name: 'lamp', version: '0.1.0', license: 'Apache-2.0' };
    const lock = { ...about, lockfileVersion: 3, requires: true, packages: { '': about } };
    const scripts = { 'test:deep': `node -e "process.exitCode = +fs.existsSync('broken')"` };
    writeFileSync(join(root, 'package.json'), JSON.stringify({ ...about, scripts }));
    writeFileSync(join(root, 'package-lock.json'), JSON.stringify(lock));
    writeFileSync(join(root, 'CHANGELOG.md'), CHANGELOG);
    writeFileSync(join(root, '.gitignore'), 'release/\nbroken\n');
    git('init', '--quiet');
    git('config', 'user.name', 'Ada');
    git('config', 'user.email', 'ada@docket.example');
    git('add', '.');
    git('commit', '--quiet', '--message', 'First');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  it('is a commit and a tag with the changelog’s words, a package, its bill of materials, and sums that are theirs', () => {
    release(root, '0.2.0', '2026-11-23');
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--format=%s')).toBe('Release 0.2.0\nFirst\n');
    expect(git('tag', '--list', '--format=%(objecttype) %(contents)')).toMatch(
      /^tag v0\.2\.0\n\n### Added\n\n- \*\*Lamp\.\*\* It turns\.\n/,
    );
    expect(JSON.parse(read('package.json'))).toMatchObject({ version: '0.2.0' });
    const sums = read('release/SHA256SUMS').trim().split('\n');
    expect(sums.map((line) => line.split('  ')[1])).toEqual([
      'lamp-0.2.0.tgz',
      'sbom-0.2.0.cdx.json',
    ]);
    for (const line of sums) {
      const [sum, name = ''] = line.split('  ');
      expect(hash('sha256', readFileSync(join(root, 'release', name)))).toBe(sum);
    }
  });

  it('leaves everything as it was when something is in its way', () => {
    expect(() => release(root, 'next', 'x')).toThrow('no version');
    expect(() => release(root, '0.1.0', 'x')).toThrow('already');
    git('tag', 'v0.2.0');
    expect(() => release(root, '0.2.0', 'x')).toThrow('tag v0.2.0 already');
    git('tag', '--delete', 'v0.2.0');
    writeFileSync(join(root, 'broken'), '');
    expect(() => release(root, '0.2.0', 'x')).toThrow('test:deep');
    rmSync(join(root, 'broken'));
    git('config', 'core.hooksPath', '.');
    writeFileSync(join(root, '.git/info/exclude'), 'pre-commit\n');
    writeFileSync(join(root, 'pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    expect(() => release(root, '0.2.0', 'x')).toThrow();
    expect(git('status', '--porcelain')).toBe('');
    expect(git('tag', '--list')).toBe('');
    expect(existsSync(join(root, 'release'))).toBe(false);
    writeFileSync(join(root, 'new'), '');
    expect(() => release(root, '0.2.0', 'x')).toThrow('not clean');
  });
});
