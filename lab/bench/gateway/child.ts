import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { readEnvironment } from '#shared/config/config.ts';

/** Processes of one benchmark: what it has started, it stops. */
export class Children {
  readonly #children: ChildProcess[] = [];
  /** Programs of others, each the leader of a group: their workers do not end with them. */
  readonly #groups: ChildProcess[] = [];

  /** Starts a program of this folder. */
  start(file: string, ...args: string[]): ChildProcess {
    return this.fork(join(import.meta.dirname, file), args, {});
  }

  fork(path: string, args: string[], env: Record<string, string>): ChildProcess {
    const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as ['ignore', 'pipe', 'inherit', 'ipc'];
    const child = fork(path, args, { stdio, env: { ...readEnvironment(), ...env } });
    this.#children.push(child);
    return child;
  }

  /** Starts a program of others, in a folder and with an environment of its own. What it says goes nowhere. */
  run(command: string, args: readonly string[], cwd: string, env: Record<string, string>): number {
    const path = { PATH: readEnvironment()['PATH'], HOME: cwd };
    const options = { cwd, env: { ...path, ...env }, detached: true, stdio: 'ignore' } as const;
    const child = spawn(command, args, options);
    this.#groups.push(child);
    return child.pid!;
  }

  /** Resolves when all of them have ended. */
  async stop(): Promise<void> {
    for (const child of this.#children) child.kill('SIGTERM');
    for (const { pid } of this.#groups) killGroup(pid!);
    await Promise.all([...this.#children, ...this.#groups].map(ended));
  }
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // All of it has ended by itself.
  }
}

export async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** What a program says first: its port. */
export async function firstLine(child: ChildProcess): Promise<string> {
  const [chunk] = (await once(child.stdout!, 'data')) as [Buffer];
  return chunk.toString().trim();
}
