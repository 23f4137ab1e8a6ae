import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, expect, it, vi } from 'vitest';
import { Instance } from '#lab/storms/instance.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Tidies up for as long as its standard input is open. */
const PROGRAM = `
  import { once } from 'node:events';
  import { untilStopped } from './lab/support/until-stopped.ts';
  const over = once(process.stdin.resume(), 'end');
  const { signal, stopped } = untilStopped();
  console.log('ready');
  await stopped.catch(({ message }) => console.log(message, signal.aborted));
  await over;
  console.log('tidied up');
`;

it.each(['SIGTERM', 'SIGINT'] as const)(
  'a program that is told %s again while it tidies up goes on with that',
  async (name) => {
    const program = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
      cwd: join(import.meta.dirname, '../../..'),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const lines = createInterface(program.stdout)[Symbol.asyncIterator]();
    const line = async (): Promise<unknown> => (await lines.next()).value;
    expect(await line()).toBe('ready');
    program.kill(name);
    expect(await line()).toBe(`stopped by ${name} true`);
    program.kill(name);
    program.stdin.end();
    expect(await line()).toBe('tidied up');
  },
);

it('a start of the product that fails leaves no folder behind, and says what went wrong', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'docket-starts-'));
  vi.stubEnv('TMPDIR', directory);
  await expect(Instance.start({ env: { PORT: 'none' } })).rejects.toThrow('PORT');
  expect(await readdir(directory)).toEqual([]);
  await rm(directory, { recursive: true });
});
