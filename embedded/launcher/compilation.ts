import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Environment } from '#shared/config/config.ts';
import { PARENT_WATCH } from './role-process.ts';

const PROGRAM = fileURLToPath(new URL('./compile.ts', import.meta.url));
/** It takes two seconds of a core. Where it takes this long, the processes compile for themselves, as when it fails. */
const COMPILATION_MS = 60_000;

export interface CompilationOptions {
  /** What the processes will load. */
  entries: readonly URL[];
  /** With the NODE_COMPILE_CACHE of the processes. */
  env: Environment;
}

/**
 * Compiles everything once, in a process that then ends, while the stores are being made: otherwise each process of a first
 * start would compile for itself what most of them share, and keep the compiler in memory for as long as it lives.
 */
export class Compilation {
  readonly #child: ChildProcess | undefined;
  /** Resolves when it is over, however it ended: it saves work, and nothing depends on it. */
  readonly over: Promise<void>;

  /** Does nothing when there is a cache. */
  constructor({ entries, env }: CompilationOptions) {
    const cache = env['NODE_COMPILE_CACHE'];
    if (cache === undefined || existsSync(cache)) {
      this.over = Promise.resolve();
      return;
    }
    const urls = entries.map(({ href }) => href);
    const child = spawn(process.execPath, ['--import', PARENT_WATCH, PROGRAM, ...urls], {
      env,
      // The channel tells it when the launcher is gone.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      timeout: COMPILATION_MS,
    });
    child.channel?.unref();
    this.#child = child;
    this.over = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('exit', () => resolve());
    });
  }

  kill(): void {
    this.#child?.kill('SIGKILL');
  }
}
