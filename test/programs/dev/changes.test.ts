import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { changesIn } from '#dev/changes.ts';

let root: string;
const write = (name: string, text: string): void => writeFileSync(join(root, name), text);
const commit = (): void => {
  const as = ['-c', 'user.name=a', '-c', 'user.email=a@b.example', '-c', 'commit.gpgsign=false'];
  execFileSync('git', ['add', '-A'], { cwd: root });
  execFileSync('git', [...as, 'commit', '-qm', 'x'], { cwd: root });
};

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'docket-changes-'));
  execFileSync('git', ['init', '-q'], { cwd: root });
  write('.gitignore', 'answers\n');
  write('kept.ts', '');
  write('gone.ts', '');
  commit();
});
afterEach(() => rmSync(root, { recursive: true }));

it('the files that differ from the last commit are those that changed and those that are new, none that is ignored or gone', () => {
  write('kept.ts', 'changed');
  write('größe.ts', 'new');
  write('answers', 'ignored');
  rmSync(join(root, 'gone.ts'));
  expect(changesIn(root)).toEqual({ since: 'HEAD', files: ['kept.ts', 'größe.ts'] });
});

it('of a checkout in which nothing differs, they are the files of the last commit', () => {
  write('kept.ts', 'changed');
  rmSync(join(root, 'gone.ts'));
  commit();
  expect(changesIn(root)).toEqual({ since: 'HEAD~1', files: ['kept.ts'] });
});
