import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { childEnvironment } from '#test/support/child-environment.ts';
import { ROOT } from './source-files.ts';

/** What is shipped of it: package and image have no folder of tests. */
const shipped = mkdtempSync(join(tmpdir(), 'docket-patience-'));
afterAll(() => rmSync(shipped, { recursive: true }));
for (const path of ['package.json', 'shared/kernel/patience.ts'])
  cpSync(join(ROOT, path), join(shipped, path), { recursive: true });

function patienceIn(cwd: string, ...options: string[]): string {
  const program = `import { PASSWORD_WORK_DIVISOR, PATIENCE } from '#patience';
    console.log(PASSWORD_WORK_DIVISOR, PATIENCE);`;
  const args = [...options, '--input-type=module', '--eval', program];
  // A run with stores beside these tests has told its own processes already.
  const env = { ...childEnvironment(), NODE_OPTIONS: '' };
  return execFileSync(process.execPath, args, { cwd, env, encoding: 'utf8', stdio: 'pipe' }).trim();
}

describe('deadlines', () => {
  it('deadlines are as long as their constants say, and passwords as dear to guess, but where a checkout is told that it is tested', () => {
    expect(patienceIn(ROOT)).toBe('1 1');
    expect(patienceIn(shipped)).toBe('1 1');
    const tested = patienceIn(ROOT, '--conditions=docket-test').split(' ').map(Number);
    expect(Math.min(...tested)).toBeGreaterThan(1);
  });

  it('a process of what is shipped does not start when it is told that it is tested', () => {
    expect(() => patienceIn(shipped, '--conditions=docket-test')).toThrow('ERR_MODULE_NOT_FOUND');
  });
});
