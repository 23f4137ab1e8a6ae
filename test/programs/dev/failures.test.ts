import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, expect, it } from 'vitest';
import { SEED } from '#test/support/depth.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** A start of Vitest, on a machine that does much else. */
const STARTED_MS = 120_000;
/** A prompt that fills a body, in an expectation, in the error that it is the cause of, and in a counterexample. */
const FAILING = `
import fc from '${import.meta.resolve('fast-check')}';
const prompt = 'a word '.repeat(120_000);
it('text', () => expect({ prompt }).toEqual({ prompt: prompt + '!' }));
it('lines', () => expect(prompt.split(' ')).toEqual([]));
it('a cause', () => { throw new Error(prompt, { cause: new Error(prompt) }); });
it('a property', () => fc.assert(fc.property(fc.constant(prompt), (drawn) => drawn === '')));
`;

it(
  'a test that fails over a large value tells its ends, and a property its seed',
  { timeout: STARTED_MS },
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'docket-failures-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    writeFileSync(join(directory, 'failing.test.mjs'), FAILING);
    const setUp = JSON.stringify(join(ROOT, 'test/support/set-up.ts'));
    const config = `export default { test: { globals: true, setupFiles: [${setUp}] } };`;
    writeFileSync(join(directory, 'vitest.config.mjs'), config);
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--root', directory],
      { encoding: 'utf8' },
    );
    const told = stdout + stderr;
    expect(told).toContain('4 failed');
    expect(told).toContain(`seed: ${SEED}`);
    // Each is told twice at most, its cause beside it.
    expect(told.length).toBeLessThan(40_000);
    expect(status).toBe(1);
  },
);
