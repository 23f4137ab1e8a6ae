import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CommandHost } from '#test/support/command-host.ts';
import { runDocket, spawnDocket } from '#test/support/docket-cli.ts';
import { atFileEnd } from '#test/support/file-end.ts';

const STUB = join(import.meta.dirname, 'stub-process.ts');

it.each([
  { args: [], input: '' },
  { args: ['--help'], input: '' },
  { args: ['keys', 'revoke', '--help'], input: '' },
  { args: ['--version'], input: '' },
  { args: ['dokter'], input: '' },
  { args: ['doctor', '--jsno'], input: '' },
  { args: ['catalogue', 'check', '--json'], input: '' },
  { args: ['policy', 'test', '-'], input: 'how long is the coast of Norway?' },
  { args: ['estimate'], input: '{"outputTokens":12}\n[' },
  { args: ['verify', '-'], input: '{}' },
  { args: ['accounts', 'list'], input: '' },
])('docket $args is the same in a process of its own and among others', async (command) => {
  const { args, input } = command;
  const [alone, among] = await Promise.all([
    spawnDocket(args, {}, input),
    runDocket(args, {}, input),
  ]);
  expect(among).toEqual(alone);
});

describe('a process that runs commands one after another', () => {
  const host = new CommandHost(STUB, 100);
  atFileEnd(() => host.stop());
  const run = (args: string[], env: Record<string, string> = {}, input = '') =>
    host.run({ args, env, input });

  it('gives each its own arguments, environment and input, and takes its own outputs and exit code', async () => {
    const [first, second] = await Promise.all([
      run(['show', 'a', 'b'], { SHOWN: 'once' }, 'typed'),
      run(['show']),
    ]);
    const shown = (said: object) => ({ code: 3, stdout: JSON.stringify(said), stderr: 'shown' });
    expect(first).toEqual(shown({ args: ['a', 'b'], env: 'once', input: 'typed' }));
    expect(second).toEqual(shown({ args: [], env: null, input: '' }));
  });

  it('says what a command has left open, with which a process of its own would not end', async () => {
    await expect(run(['leave'])).rejects.toThrow('docket leave has left open: Timeout');
    expect(await run(['show'])).toMatchObject({ code: 3 });
  });

  it.each(['show', 'late', 'late wait', 'exit', 'throw', 'wait'])(
    'gives the exit code that a process of its own has at its end: %s',
    async (command) => {
      const program = `await (await import(${JSON.stringify(STUB)})).runProgram([${JSON.stringify(command)}])`;
      const alone = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: 'ignore',
      });
      const [[code], among] = await Promise.all([once(alone, 'close'), run([command])]);
      expect(among.code).toBe(code);
    },
  );

  it('gives the exit code of a command that ends the process, fails, or waits for what cannot come', async () => {
    expect(await run(['exit'])).toEqual({ code: 7, stdout: 'last words', stderr: '' });
    const failed = await run(['throw']);
    expect([failed.code, failed.stderr]).toEqual([
      1,
      expect.stringContaining('of nothing that waits for it'),
    ]);
    expect(await run(['wait'])).toMatchObject({ code: 13 });
    expect(await run(['show'])).toMatchObject({ code: 3 });
  });
});
