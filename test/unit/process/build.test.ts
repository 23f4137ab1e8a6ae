import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { buildName, readBuild } from '#shared/process/build.ts';
import packageJson from '../../../package.json' with { type: 'json' };

const COMMIT = '3f2a91c04b1e'.padEnd(40, '0');
const OTHER = 'a'.repeat(40);

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'docket-build-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe('the commit that a build was made at is told [operators.build]', () => {
  it.each<[string, Record<string, string>, string?]>([
    ['of a package or an image', { commit: `${COMMIT}\n` }],
    ['of a checkout of no branch', { '.git/HEAD': `${COMMIT}\n` }],
    [
      'of a branch',
      { '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` },
    ],
    [
      'of a branch that git has packed',
      {
        '.git/HEAD': 'ref: refs/heads/main\n',
        '.git/packed-refs': `# pack-refs\n${OTHER} refs/heads/a/main\n${COMMIT} refs/heads/main\n`,
      },
    ],
    [
      'of a further worktree',
      {
        'tree/.git': 'gitdir: ROOT/.git/worktrees/tree\n',
        '.git/worktrees/tree/HEAD': 'ref: refs/heads/other\n',
        '.git/worktrees/tree/commondir': '../..\n',
        '.git/refs/heads/other': `${COMMIT}\n`,
      },
      'tree',
    ],
  ])('%s', (_title, files, within = '.') => {
    const folder = folderWith(files);
    if (within !== '.')
      writeFileSync(join(folder, 'tree/.git'), `gitdir: ${folder}/.git/worktrees/tree\n`);
    const build = readBuild(join(folder, within));
    expect(build).toEqual({ version: packageJson.version, commit: '3f2a91c04b1e' });
    expect(buildName(build)).toBe(`docket/${packageJson.version}+3f2a91c04b1e`);
  });

  it.each<[string, Record<string, string>]>([
    ['nothing says it', {}],
    ['a package was made of no checkout', { commit: '\n' }],
    ['what says it is something else', { commit: 'ref: refs/heads/main' }],
    ['a branch has no commit yet', { '.git/HEAD': 'ref: refs/heads/main\n' }],
  ])('and not where %s', (_title, files) => {
    const build = readBuild(folderWith(files));
    expect(build.commit).toBeUndefined();
    expect(buildName(build)).toBe(`docket/${packageJson.version}`);
  });
});
