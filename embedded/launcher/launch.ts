import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import { type Environment, loadToolConfig, type ToolConfig } from '#shared/config/config.ts';
import type { Role } from '#shared/config/settings.ts';
import { catalogueSources } from '#shared/process/open-catalogue.ts';
import { type DemoAccounts, ensureDemoAccounts } from '#embedded/demo-accounts.ts';
import { claimPort } from '#embedded/ports.ts';
import { ensureDatabaseLogins } from '#embedded/stores/database-logins.ts';
import { claimDirectory, releaseDirectory } from '#embedded/stores/directory-owner.ts';
import { type DevFile, ensureOperatorLogin, removeDevFile, writeDevFile } from './dev-file.ts';
import { Guard } from './guard.ts';
import type { Output } from './output.ts';
import { askableHost } from './role-process.ts';
import { REPOSITORY, roleCommands, sandboxCommand } from './roles.ts';
import { startStores, type Stores } from './stores.ts';
import { Supervisor } from './supervisor.ts';

export interface LaunchOptions {
  /** The environment to start from: this process's own, or a test's. */
  env: Environment;
  output: Output;
  /** The folder of the Procfile; this repository's when absent. */
  root?: URL;
}

/** An embedded instance that is ready. */
export interface Running {
  readonly info: DevFile;
  /** A model of the catalogue that can chat, for the example. */
  readonly chatModel: string | undefined;
  /** Stops everything in reverse order, each within its bound. */
  stop(): Promise<void>;
}

/** Time beyond its own SHUTDOWN_MS after which a process is killed. */
const STOP_SLACK_MS = 2_000;
/** Roles that take requests in are stopped one after the other, so that what they took can finish behind them. */
const INTAKE_ORDER = ['api', 'inference'];

/** Starts and stops everything on one machine. */
export class Launcher {
  readonly #options: LaunchOptions;
  readonly #config: ToolConfig;
  readonly #dataDir: string;
  readonly #guard: Guard;
  #stores: Promise<Stores> | undefined;
  #sandbox: Supervisor | undefined;
  #roles: Supervisor[] = [];
  #claimed = false;
  #stopping: Promise<void> | undefined;

  /** @throws ConfigError when the environment cannot be used. */
  constructor(options: LaunchOptions) {
    this.#options = options;
    this.#config = loadToolConfig(options.env);
    this.#dataDir = resolve(this.#config.dataDir);
    this.#guard = new Guard();
  }

  /**
   * Starts everything, in the order in which it depends on each other and otherwise at once.
   * @throws Error with the reason; what had been started must then be stopped.
   */
  async start(): Promise<Running> {
    const { output } = this.#options;
    await mkdir(this.#dataDir, { recursive: true });
    await claimDirectory(this.#dataDir);
    this.#claimed = true;
    const host = this.#options.env['HOST'] || '127.0.0.1';
    const port = await claimPort(host, this.#config.port);
    const operator = await ensureOperatorLogin(this.#dataDir);

    // Chosen here, so that a sandbox that is started again comes back where the catalogue points to.
    const sandboxPort = await claimPort('127.0.0.1', 0);
    const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
    // Settings and catalogue are refused before anything is started.
    const common = this.#environment(sandboxUrl, host, port);
    const config = loadToolConfig(common);
    const chatModel = checkCatalogue(config);
    ensureSigningKeys(config.signingKeysDir);
    ensureLaneKeys(config.laneKeysDir);

    output.say('starting PostgreSQL, Redis and the sandbox upstream');
    const [stores] = await Promise.all([this.#startStores(), this.#startSandbox(sandboxPort)]);
    this.#stopIfAsked();
    const applied = await migrateToLatest(stores.postgres.url);
    if (applied.length > 0) output.say(`applied migrations: ${applied.length}`);
    this.#stopIfAsked();

    // A server that was there before us has logins that its operator gives.
    const databaseUrls =
      config.secrets.databaseUrl === undefined
        ? await ensureDatabaseLogins(stores.postgres.url, this.#dataDir)
        : undefined;
    const envOf = (role: Role): Environment => ({
      ...common,
      DATABASE_URL: databaseUrls?.[role] ?? stores.postgres.url,
      REDIS_URL: stores.redis.url,
    });
    output.say('starting every process of the Procfile');
    const [demo] = await Promise.all([
      this.#demoAccounts(stores.postgres.url),
      this.#startRoles(envOf),
    ]);
    const info = (): DevFile => ({
      ...addresses(host, port),
      api_key: demo.keys.enterprise,
      org_id: demo.organisations.enterprise,
      keys: demo.keys,
      database_url: stores.postgres.url,
      redis_url: stores.redis.url,
      sandbox_url: sandboxUrl,
      operator,
      processes: this.#processes(),
    });
    this.#stopIfAsked();
    await writeDevFile(this.#dataDir, info());
    this.#onChange = () => this.#rewrite(info);
    return { info: info(), chatModel, stop: () => this.stop() };
  }

  /** Stops what runs, in reverse order. Safe to call at any time, and twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** SIGKILL to everything, at the second signal. */
  async kill(): Promise<void> {
    for (const role of [...this.#roles, this.#sandbox]) role?.kill();
    const stores = await this.#stores?.catch(() => undefined);
    stores?.redis.kill();
    stores?.postgres.kill();
  }

  #onChange = (): void => {};
  #writing: Promise<void> = Promise.resolve();

  /** One after the other, because they share a temporary name. */
  #rewrite(info: () => DevFile): void {
    if (this.#stopping !== undefined) return;
    const write = (): Promise<void> => writeDevFile(this.#dataDir, info());
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      this.#options.output.say(`dev.json could not be written: ${String(error)}`, 'red');
    });
  }

  #stopIfAsked(): void {
    if (this.#stopping !== undefined) throw new Error('stopped while starting');
  }

  #startStores(): Promise<Stores> {
    const { databaseUrl, redisUrl } = this.#config.secrets;
    const { output } = this.#options;
    this.#stores = startStores({
      dataDir: this.#dataDir,
      databaseUrl,
      redisUrl,
      output,
      guard: this.#guard,
    });
    return this.#stores;
  }

  async #startSandbox(port: number): Promise<void> {
    const { env, output } = this.#options;
    this.#sandbox = this.#supervise(sandboxCommand(output, { ...env, PORT: String(port) }));
    await this.#sandbox.start();
  }

  async #startRoles(envOf: (role: Role) => Environment): Promise<void> {
    const { output, root = REPOSITORY } = this.#options;
    const commands = roleCommands({ root, output, envOf, replicas: this.#config.replicas });
    this.#roles = commands.map((command) => this.#supervise(command));
    await Promise.all(this.#roles.map((role) => role.start()));
  }

  #supervise(command: Supervisor['command']): Supervisor {
    return new Supervisor(command, {
      output: this.#options.output,
      onChange: () => this.#onChange(),
    });
  }

  async #demoAccounts(url: string): Promise<DemoAccounts> {
    const pool = createPool({ url, role: 'docket_operator', max: 1, applicationName: 'docket up' });
    try {
      return await ensureDemoAccounts(pool, this.#dataDir);
    } finally {
      await pool.end();
    }
  }

  /** The environment of every process besides the stores' addresses: the caller's own, and where things are. */
  #environment(sandboxUrl: string, host: string, port: number): Record<string, string | undefined> {
    return {
      // Compiled code is kept between starts; a start is mostly compiling.
      NODE_COMPILE_CACHE: join(this.#dataDir, 'compile-cache'),
      // There is no balancer that would have to find out: api processes share their port.
      LAME_DUCK_MS: '0',
      ...this.#options.env,
      SANDBOX_URL: `${sandboxUrl}/v1`,
      DOCKET_DATA_DIR: this.#dataDir,
      HOST: host,
      PORT: String(port),
      METRICS_PORT: '0',
    };
  }

  #processes(): DevFile['processes'] {
    return this.#roles.flatMap(({ command, current }) => {
      const [pid, metricsPort] = [current?.pid ?? null, current?.metricsPort ?? null];
      if (pid === null || metricsPort === null) return [];
      return [{ role: command.role, pid, metrics_port: metricsPort }];
    });
  }

  async #stopAll(): Promise<void> {
    const withinMs = this.#config.shutdownMs + STOP_SLACK_MS;
    const stop = (roles: readonly Supervisor[]): Promise<unknown> =>
      Promise.all(roles.map((role) => role.stop(withinMs)));
    await this.#writing;
    if (this.#claimed) await removeDevFile(this.#dataDir);
    for (const intake of INTAKE_ORDER) {
      await stop(this.#roles.filter(({ command }) => command.role === intake));
    }
    await stop(this.#roles.filter(({ command }) => !INTAKE_ORDER.includes(command.role)));
    await this.#sandbox?.stop(withinMs);
    // After an interrupted start they may still be coming up.
    const stores = await this.#stores?.catch(() => undefined);
    await Promise.all([stores?.redis.stop(), stores?.postgres.stop()]);
    this.#guard.dismiss();
    if (this.#claimed) await releaseDirectory(this.#dataDir);
  }
}

/** A bad catalogue stops the start here, before nine processes complain. */
function checkCatalogue(config: ToolConfig): string | undefined {
  const file = config.cataloguePath ?? DEFAULT_CATALOGUE;
  const { catalogue } = loadCatalogue(file, catalogueSources(config));
  return catalogue.models.find((model) => model.kinds.includes('chat'))?.id;
}

function addresses(host: string, port: number): Pick<DevFile, 'base_url' | 'dashboard_url'> {
  const origin = `http://${askableHost(host)}:${port}`;
  return { base_url: `${origin}/v1`, dashboard_url: `${origin}/dashboard` };
}
