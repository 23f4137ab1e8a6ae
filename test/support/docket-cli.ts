import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { childEnvironment } from './child-environment.ts';

const ENTRY = join(import.meta.dirname, '../../cli/docket.ts');
/** A command that hangs is a failure; loading one takes well under a second. */
const TIMEOUT_MS = 80_000;

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs `docket …` as an operator would, with only this environment. */
export function runDocket(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  /** Standard input of the command. */
  input: string = '',
): Promise<CommandResult> {
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = childEnvironment();
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [ENTRY, ...args],
      {
        env: { NODE_COMPILE_CACHE, NODE_OPTIONS, ...env, DOCKET_DATA_DIR: '/nonexistent' },
        timeout: TIMEOUT_MS,
      },
      (_error, stdout, stderr) => resolve({ code: child.exitCode, stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
