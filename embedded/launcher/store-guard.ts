import { type ChildProcess, spawn } from 'node:child_process';
import { bareEnvironment } from '#embedded/stores/bare-environment.ts';

/**
 * Reads lists of process ids, one list per line. When its input ends, as it does even when the launcher is killed, it
 * asks the processes of the last line to finish. Both stores take SIGINT for that.
 */
const SCRIPT = `
trap '' INT TERM HUP
pids=
while read -r line; do pids=$line; done
[ -z "$pids" ] || kill -INT $pids
`;

/** Stops the database servers when the launcher dies without having done so: they have no channel to it. */
export class StoreGuard {
  readonly #shell: ChildProcess;
  readonly #pids = new Map<string, number>();

  constructor() {
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT], {
      // A session of its own: Ctrl-C in the terminal is not for it.
      detached: true,
      env: bareEnvironment(),
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // Without a shell there is no guard; the next start finds and stops what was left over.
    this.#shell.on('error', () => {});
    this.#shell.stdin?.on('error', () => {});
    this.#shell.unref();
  }

  /** Watches the process that has this name now; without an id, none of that name any more. */
  watch(name: string, pid: number | undefined): void {
    if (pid === undefined) this.#pids.delete(name);
    else this.#pids.set(name, pid);
    this.#shell.stdin?.write(`${[...this.#pids.values()].join(' ')}\n`);
  }

  /** Everything has been stopped in order. */
  dismiss(): void {
    this.#shell.stdin?.end('\n');
  }
}
