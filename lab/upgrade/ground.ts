import { join } from 'node:path';
import type { RunningServer } from '#embedded/stores/server-process.ts';
import { removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { fileOf, type Running, start, type Variables } from '#lab/pooler/product.ts';
import { BACKGROUND_ROLES } from '#shared/config/settings.ts';
import { type Build, makeAccount, migrate, unpack } from './build.ts';
import { makeStores } from './stores.ts';

/** In the order in which docs/operations.md has them upgraded, and two of each that a request waits for. */
const KINDS = [
  'receipts',
  'receipts',
  'inference',
  'inference',
  'api',
  'api',
  'background',
] as const;

/** The place of one process, in which builds take turns. */
export interface Place {
  kind: (typeof KINDS)[number];
  running: Running;
}

/** Both stores, the sandbox, and the processes of a build. */
export class Ground {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly directory: string;
  readonly #env: Variables;
  readonly #servers: readonly Pick<RunningServer, 'stop'>[];
  /** In the order of an upgrade. */
  readonly places: Place[] = [];
  #apiPort = '0';

  private constructor(made: Awaited<ReturnType<typeof makeStores>>) {
    this.directory = made.directory;
    this.databaseUrl = made.env['DATABASE_URL']!;
    this.redisUrl = made.env['REDIS_URL']!;
    this.#env = made.env;
    this.#servers = made.servers;
  }

  static async start(): Promise<Ground> {
    return new Ground(await makeStores());
  }

  /** The tree of a commit, among what is removed at the end. */
  unpack(commit: string): Promise<Build> {
    return unpack(commit, join(this.directory, commit));
  }

  /** What the process of a place says that it is, in its line `ready`. */
  static buildOf({ running }: Place): string {
    const line = running.lines.findLast((one) => one.includes('"event":"ready"'));
    return String((JSON.parse(line ?? '{}') as { build?: unknown }).build);
  }

  /** Starts everything of a build; returns where it is called, and with which key. */
  async startAll(build: Build): Promise<{ baseUrl: string; apiKey: string }> {
    this.migrate(build);
    const apiKey = makeAccount(build, this.#env);
    for (const kind of KINDS) {
      const running = await this.#startOne(kind, build);
      this.places.push({ kind, running });
      if (kind === 'api') this.#apiPort = String(running.port);
    }
    return { baseUrl: `http://127.0.0.1:${this.#apiPort}/v1`, apiKey };
  }

  migrate(build: Build): void {
    migrate(build, this.#env);
  }

  /**
   * Has a process of a build take the place of one, as who restarts a service does: the old one ends first.
   * @throws Error when it does not end by itself, as it should
   */
  async replace(place: Place, build: Build): Promise<void> {
    const { code, lines } = await place.running.stop();
    if (code !== 0) throw new Error(`${place.kind} ended with ${code}:\n${lines.join('\n')}`);
    place.running = await this.#startOne(place.kind, build);
  }

  async remove(): Promise<void> {
    await Promise.all(this.places.map(({ running }) => running.stop()));
    for (const server of this.#servers) await server.stop();
    await removeGiven(this.directory);
  }

  #startOne(kind: Place['kind'], { root }: Build): Promise<Running> {
    if (kind === 'background') {
      return start('workers/background/main.ts', this.#env, { root, args: BACKGROUND_ROLES });
    }
    const env = kind === 'api' ? { ...this.#env, PORT: this.#apiPort } : this.#env;
    return start(fileOf(kind), env, { root });
  }
}
