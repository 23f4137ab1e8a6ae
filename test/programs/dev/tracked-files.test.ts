import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { trackedFiles } from '#dev/tracked-files.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'docket-tracked-'));
  execFileSync('git', ['init', '-q', root]);
});
afterEach(() => rmSync(root, { recursive: true }));

it('what the README has its reader save beside the code is not checked for its format', () => {
  for (const name of ['main.ts', 'answer.json', 'did.json']) {
    writeFileSync(join(root, name), '{   }');
  }
  execFileSync('git', ['add', 'main.ts'], { cwd: root });
  expect(trackedFiles(root)).toEqual(['main.ts']);
});

it('of an archive that was unpacked, all is checked but what is made there', () => {
  rmSync(join(root, '.git'), { recursive: true });
  for (const path of ['api/plugins', 'node_modules/a', '.docket']) {
    mkdirSync(join(root, path), { recursive: true });
    writeFileSync(join(root, path, 'main.ts'), '');
  }
  writeFileSync(join(root, 'README.md'), '');
  expect(trackedFiles(root).toSorted()).toEqual(['README.md', 'api/plugins/main.ts']);
});
