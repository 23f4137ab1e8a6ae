import { execFile } from 'node:child_process';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { childEnvironment } from './child-environment.ts';
import { CommandHost, type CommandResult } from './command-host.ts';

export type { CommandResult } from './command-host.ts';

const CLI = join(import.meta.dirname, '../../cli');
/** A command that hangs is a failure; loading one takes well under a second. */
const TIMEOUT_MS = 80_000;

/** Who acts by a command while no person has signed in. */
export const HERE = `os:${userInfo().username}@${hostname()}`;

type Command = [
  args: readonly string[],
  /** All of the command's environment but for how tests run processes. */
  env?: Readonly<Record<string, string>>,
  /** Standard input of the command. */
  input?: string,
];

const host = new CommandHost(join(CLI, 'program.ts'));

/** Runs `docket …` as an operator would, with only this environment, in a process that runs other commands before and after. */
export function runDocket(...[args, env, input = '']: Command): Promise<CommandResult> {
  return host.run({ args, env: environmentOf(env), input });
}

/** The same in a process of its own: for what is about processes, and for a command that stays. */
export function spawnDocket(...[args, env, input = '']: Command): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [join(CLI, 'docket.ts'), ...args],
      { env: environmentOf(env), timeout: TIMEOUT_MS },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}

function environmentOf(env: Readonly<Record<string, string>> = {}) {
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = childEnvironment();
  return { NODE_COMPILE_CACHE, NODE_OPTIONS, ...env, DOCKET_DATA_DIR: '/nonexistent' };
}
