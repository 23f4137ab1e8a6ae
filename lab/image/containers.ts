import { run } from './tools.ts';
import { IMAGE } from './build.ts';

/**
 * On the machine's own network: a bridge needs rights that build machines do not give. Limits are named because some
 * machines do not let the runtime raise them.
 */
const RUN = [
  '--runtime=runc',
  'run',
  '--pull=never',
  '--network=host',
  '--ulimit=nofile=1024:4096',
  '--ulimit=nproc=1024:1024',
];

/** The standard output of a container that ends by itself. @param flags of podman, as compose.yaml has them */
export function once(command: readonly string[], flags: readonly string[]): Promise<string> {
  return run('podman', ...RUN, '--rm', ...flags, IMAGE, ...command);
}

/** A container that runs until it is stopped. */
export class Container {
  readonly name: string;
  readonly #id: string;

  private constructor(name: string, id: string) {
    this.name = name;
    this.#id = id;
  }

  static async start(
    name: string,
    command: readonly string[],
    flags: readonly string[],
  ): Promise<Container> {
    const id = await run('podman', ...RUN, '--detach', ...flags, IMAGE, ...command);
    return new Container(name, id);
  }

  logs(): Promise<string> {
    return run('sh', '-c', 'podman logs "$0" 2>&1 | tail -n 20', this.#id);
  }

  /** What a command in it prints. */
  inside(...command: readonly string[]): Promise<string> {
    return run('podman', '--runtime', 'runc', 'exec', this.#id, ...command);
  }

  /** SIGTERM, and what came of it. @param graceSeconds after which it is killed */
  async stop(graceSeconds: number): Promise<{ exitCode: number; seconds: number }> {
    const begun = performance.now();
    await run('podman', '--runtime', 'runc', 'stop', '--time', String(graceSeconds), this.#id);
    const seconds = (performance.now() - begun) / 1_000;
    const state = await run('podman', 'inspect', '--format', '{{.State.ExitCode}}', this.#id);
    return { exitCode: Number(state), seconds };
  }

  async remove(): Promise<void> {
    await run('podman', '--runtime', 'runc', 'rm', '--force', '--time', '0', this.#id);
  }
}
