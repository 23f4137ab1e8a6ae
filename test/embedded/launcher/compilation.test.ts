import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Compilation } from '#embedded/launcher/compilation.ts';
import { Output } from '#embedded/launcher/output.ts';
import { RoleProcess } from '#embedded/launcher/role-process.ts';
import { sandboxCommand } from '#embedded/launcher/roles.ts';
import { childEnvironment } from '#test/support/child-environment.ts';

function emptyDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'docket-compilation-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}

const filesIn = (cache: string): string[] =>
  readdirSync(cache, { recursive: true, encoding: 'utf8' });

it('what is compiled ahead of a first start is compiled by no process again, and is not run', async () => {
  const cache = join(emptyDirectory(), 'cache');
  // Of the programs as they are shipped.
  const shipped = { ...childEnvironment(), NODE_OPTIONS: '' };
  const env = { ...shipped, NODE_COMPILE_CACHE: cache, PORT: '0' };
  const output = new Output({ write: () => {}, colour: false });
  const command = sandboxCommand(output, env);
  // A role that ran would refuse to start without its settings, and what comes after it would not be compiled.
  const purge = new URL('workers/purge/main.ts', command.cwd);
  await new Compilation({ entries: [purge, command.entry], env }).over;
  const compiled = filesIn(cache);
  expect(compiled.length).toBeGreaterThan(100);

  const sandbox = new RoleProcess(command);
  await sandbox.ready(AbortSignal.timeout(20_000));
  await sandbox.stop(5_000);
  expect(filesIn(cache)).toEqual(compiled);
});

it('a start that has a cache compiles nothing ahead', async () => {
  const cache = emptyDirectory();
  const env = { ...childEnvironment(), NODE_COMPILE_CACHE: cache };
  await new Compilation({ entries: [new URL('file:///nonexistent')], env }).over;
  expect(filesIn(cache)).toEqual([]);
});

it.each([
  { around: 0o700, cache: 0o775, used: true },
  { around: 0o755, cache: 0o755, used: true },
  { around: 0o755, cache: 0o777, used: false },
  { around: 0o777, cache: 0o755, used: false },
])('docket up runs what was compiled only where no other user can write: %o', async (modes) => {
  const directory = emptyDirectory();
  const cache = join(directory, 'compile-cache');
  mkdirSync(cache);
  chmodSync(cache, modes.cache);
  chmodSync(directory, modes.around);
  const env = { DOCKET_DATA_DIR: directory };
  // Refused before the launcher is loaded; what reads arguments is compiled by then.
  const args = ['cli/start.js', 'up', '--no-such-option'];
  const child = spawn(process.execPath, args, { env, stdio: 'ignore' });
  expect(await once(child, 'exit')).not.toEqual([0, null]);
  expect(filesIn(cache).length > 0).toBe(modes.used);
});
