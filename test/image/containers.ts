import { run } from './tools.ts';
import { IMAGE } from './build.ts';

/**
 * As compose.yaml confines them. On the machine's own network: a bridge needs rights that build machines do not give. Limits
 * are named because some machines do not let the runtime raise them.
 */
const CONFINED = [
  '--runtime=runc',
  'run',
  '--pull=never',
  '--network=host',
  '--read-only',
  '--cap-drop=all',
  '--security-opt=no-new-privileges',
  '--tmpfs=/tmp',
  '--ulimit=nofile=1024:4096',
  '--ulimit=nproc=1024:1024',
];
/** SHUTDOWN_MS, and the time that compose.yaml gives on top. */
const STOP_SECONDS = 30;

export interface ContainerOptions {
  env?: Readonly<Record<string, string>>;
  /** `from:to`, as podman takes them. */
  volumes?: readonly string[];
}

function flags({ env = {}, volumes = [] }: ContainerOptions): string[] {
  return [
    ...Object.entries(env).flatMap(([name, value]) => ['--env', `${name}=${value}`]),
    ...volumes.flatMap((volume) => ['--volume', volume]),
  ];
}

/** The standard output of a container that ends by itself. */
export function once(command: readonly string[], options: ContainerOptions): Promise<string> {
  return run('podman', ...CONFINED, '--rm', ...flags(options), IMAGE, ...command);
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
    options: ContainerOptions,
  ): Promise<Container> {
    const id = await run('podman', ...CONFINED, '--detach', ...flags(options), IMAGE, ...command);
    return new Container(name, id);
  }

  logs(): Promise<string> {
    return run('sh', '-c', 'podman logs "$0" 2>&1 | tail -n 20', this.#id);
  }

  /** What a program in it prints. */
  inside(program: string): Promise<string> {
    return run('podman', '--runtime', 'runc', 'exec', this.#id, 'node', '-e', program);
  }

  /** SIGTERM, and what came of it. */
  async stop(): Promise<{ exitCode: number; seconds: number }> {
    const begun = performance.now();
    await run('podman', '--runtime', 'runc', 'stop', '--time', String(STOP_SECONDS), this.#id);
    const seconds = (performance.now() - begun) / 1_000;
    const state = await run('podman', 'inspect', '--format', '{{.State.ExitCode}}', this.#id);
    return { exitCode: Number(state), seconds };
  }

  async remove(): Promise<void> {
    await run('podman', '--runtime', 'runc', 'rm', '--force', '--time', '0', this.#id);
  }
}
