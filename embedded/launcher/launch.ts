import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { CatalogueError, describeProblem } from '#shared/catalogue/problem.ts';
import {
  ConfigError,
  type Environment,
  loadToolConfig,
  type ToolConfig,
} from '#shared/config/config.ts';
import type { BackgroundRole } from '#shared/config/settings.ts';
import { LOCALHOST } from '#shared/kernel/localhost.ts';
import { catalogueSources } from '#shared/process/open-catalogue.ts';
import {
  type DemoAccounts,
  ensureDemoAccounts,
  PAID_REQUESTS_PER_DAY,
} from '#embedded/demo-accounts.ts';
import { type DemoPersons, ensureDemoPersons } from '#embedded/demo-persons.ts';
import { claimPort, holdPort } from '#embedded/ports.ts';
import { type ProviderInUse, startCatalogue } from '#embedded/providers/start-catalogue.ts';
import { ensureDatabaseLogins, type ProcessName } from '#embedded/stores/database-logins.ts';
import { ensurePassword } from '#embedded/stores/private-file.ts';
import { claimDirectory, releaseDirectory } from '#embedded/stores/directory-owner.ts';
import { OWN_DIRECTORY_MODE } from '#embedded/stores/unprivileged-user.ts';
import { Compilation } from './compilation.ts';
import { type DevFile, removeDevFile, writeDevFile } from './dev-file.ts';
import { StoreGuard } from './store-guard.ts';
import type { Output } from './output.ts';
import { withOwnSecrets, withoutSecrets } from './own-secrets.ts';
import { askableHost } from './role-process.ts';
import { REPOSITORY, roleCommands, sandboxCommand, sharingRoles, startEntries } from './roles.ts';
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
  /** Demo organisations that are not active. */
  readonly inactive: DemoAccounts['inactive'];
  /** Whose models are offered beside the sandbox's. */
  readonly providers: readonly ProviderInUse[];
  /** Where `dev.json` is, as an absolute path. */
  readonly dataDir: string;
  /** Stops everything in reverse order, each within its bound. */
  stop(): Promise<void>;
}

interface Claims {
  host: string;
  port: number;
  sandboxPort: number;
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
  readonly #guard: StoreGuard;
  #compilation: Compilation | undefined;
  #stores: Promise<Stores> | undefined;
  #sandbox: Supervisor | undefined;
  #roles: Supervisor[] = [];
  /** Of the processes, once they are being started. */
  #settings: ToolConfig | undefined;
  #claims: Promise<Claims> | undefined;
  #claimed = false;
  /** Let the ports go that are held for api and sandbox until those listen. */
  readonly #held = { api: (): void => {}, sandbox: (): void => {} };
  #stopping: Promise<void> | undefined;

  /** @throws ConfigError when the environment cannot be used. */
  constructor(options: LaunchOptions) {
    this.#options = options;
    this.#config = loadToolConfig(options.env);
    refuseOthersConnections(this.#config);
    this.#dataDir = resolve(this.#config.dataDir);
    this.#guard = new StoreGuard();
  }

  /**
   * Starts everything, in the order in which it depends on each other and otherwise at once.
   * @throws Error with the reason; what had been started must then be stopped.
   */
  async start(): Promise<Running> {
    const { output } = this.#options;
    this.#claims = this.#claim();
    const { host, port, sandboxPort } = await this.#claims;
    this.#stopIfAsked();
    const sandboxUrl = `http://127.0.0.1:${sandboxPort}`;
    // Settings and catalogue are refused before anything is started.
    const { path, providers } = await startCatalogue(this.#config, this.#dataDir, (line) =>
      output.say(line),
    );
    this.#stopIfAsked();
    const common = {
      ...this.#environment(sandboxUrl, host, port),
      ...(path === undefined ? {} : { CATALOGUE: path }),
    };
    const config = loadToolConfig(common);
    const catalogue = checkCatalogue(config);
    ensureSigningKeys(config.signingKeysDir);
    ensureLaneKeys(config.laneKeysDir);

    const { root = REPOSITORY } = this.#options;
    const bare = withoutSecrets(common, catalogue);
    this.#compilation = new Compilation({ entries: startEntries(root), env: bare });
    output.say('starting PostgreSQL and Redis');
    const stores = await this.#startStores();
    this.#stopIfAsked();
    const applied = await migrateToLatest(stores.postgres.url);
    if (applied.length > 0) output.say(`applied migrations: ${applied.length}`);
    this.#stopIfAsked();

    const background = sharingRoles(config);
    const databaseUrls = await ensureDatabaseLogins({
      background,
      ownerUrl: stores.postgres.url,
      dataDir: this.#dataDir,
      ours: config.secrets.databaseUrl === undefined,
    });
    const sessionSecret =
      config.secrets.sessionSecret ?? (await ensurePassword(join(this.#dataDir, 'session.secret')));
    const webhooksSecret =
      config.secrets.webhooksSecret ??
      (await ensurePassword(join(this.#dataDir, 'webhooks.secret')));
    const mayChange = this.#config.cataloguePath !== undefined;
    const envOf = (name: ProcessName): Environment => ({
      ...withOwnSecrets(
        { ...common, WEBHOOKS_SECRET: webhooksSecret, WEBHOOKS_SECRET_FILE: undefined },
        name,
        {
          catalogue,
          mayChange,
          background,
        },
      ),
      // Read here already, where they were in files.
      DATABASE_URL_FILE: undefined,
      REDIS_URL_FILE: undefined,
      SESSION_SECRET_FILE: undefined,
      DATABASE_URL: databaseUrls[name],
      ...(name === 'api' ? { SESSION_SECRET: sessionSecret } : {}),
      REDIS_URL: stores.redis.url,
    });
    this.#settings = config;
    const [demo] = await Promise.all([
      this.#demoAccounts(stores.postgres.url, providers.length > 0),
      this.#compilation.over.then(() => {
        this.#stopIfAsked();
        output.say('starting the sandbox upstream and every process of the Procfile');
        return Promise.all([
          this.#startSandbox({ ...bare, PORT: String(sandboxPort) }),
          this.#startRoles(background, envOf),
        ]);
      }),
    ]);
    const info = (): DevFile => ({
      ...addresses(host, port),
      api_key: demo.keys.enterprise,
      org_id: demo.organisations.enterprise,
      keys: demo.keys,
      database_url: stores.postgres.url,
      redis_url: stores.redis.url,
      sandbox_url: sandboxUrl,
      ...demo.persons,
      processes: this.#processes(),
    });
    this.#stopIfAsked();
    this.#held.api();
    await writeDevFile(this.#dataDir, info());
    this.#onChange = () => this.#rewrite(info);
    const chatModel = catalogue.models.find((model) => model.kinds.includes('chat'))?.id;
    const { inactive } = demo;
    const dataDir = this.#dataDir;
    return { info: info(), chatModel, inactive, providers, dataDir, stop: () => this.stop() };
  }

  /** Stops what runs, in reverse order. Safe to call at any time, and twice. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stopAll();
    return this.#stopping;
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /**
   * Has every process read the catalogue again. A bad one is refused here, in one place, and no process is asked: all of
   * them keep the one they have.
   */
  reload(): void {
    const { output } = this.#options;
    if (this.#settings === undefined) {
      output.say('the catalogue is read when the processes start');
      return;
    }
    try {
      checkCatalogue(this.#settings);
    } catch (error) {
      if (!(error instanceof CatalogueError)) throw error;
      output.say('the catalogue is not reloaded, and every process keeps the one it has:', 'red');
      for (const problem of error.problems) output.say(describeProblem(error.file, problem), 'red');
      return;
    }
    output.say('reloading the catalogue in every process');
    for (const role of this.#roles) role.reload();
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

  /** What no other instance may have: the directory, and the ports of api and sandbox. */
  async #claim(): Promise<Claims> {
    // One that is there may be of others, too, and stays as it is.
    await mkdir(this.#dataDir, { recursive: true, mode: OWN_DIRECTORY_MODE });
    await claimDirectory(this.#dataDir);
    this.#claimed = true;
    const host = this.#options.env['HOST'] || LOCALHOST;
    const port = await claimPort(host, this.#config.port);
    this.#held.api = await holdPort(host, port);
    // Chosen here, so that a sandbox that is started again comes back where the catalogue points to.
    const sandboxPort = await claimPort('127.0.0.1', 0);
    this.#held.sandbox = await holdPort('127.0.0.1', sandboxPort);
    return { host, port, sandboxPort };
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

  async #startSandbox(env: Environment): Promise<void> {
    this.#sandbox = this.#supervise(sandboxCommand(this.#options.output, env));
    await this.#sandbox.start();
    this.#held.sandbox();
  }

  async #startRoles(
    background: readonly BackgroundRole[],
    envOf: (name: ProcessName) => Environment,
  ): Promise<void> {
    const { output, root = REPOSITORY } = this.#options;
    const { replicas } = this.#config;
    const commands = roleCommands({ root, output, envOf, replicas, background });
    this.#roles = commands.map((command) => this.#supervise(command));
    await Promise.all(this.#roles.map((role) => role.start()));
  }

  #supervise(command: Supervisor['command']): Supervisor {
    return new Supervisor(command, {
      output: this.#options.output,
      onChange: () => this.#onChange(),
    });
  }

  async #demoAccounts(
    url: string,
    areCharged: boolean,
  ): Promise<DemoAccounts & { persons: DemoPersons }> {
    const pool = createPool({ url, role: 'docket_operator', max: 1, applicationName: 'docket up' });
    try {
      const budget = areCharged ? { requestsPerDay: PAID_REQUESTS_PER_DAY } : {};
      const accounts = await ensureDemoAccounts(pool, this.#dataDir, budget);
      const { enterprise } = accounts.organisations;
      return { ...accounts, persons: await ensureDemoPersons(pool, this.#dataDir, enterprise) };
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
      // On one machine only its own users are told to write there.
      SUPPORT_EMAIL: 'support@localhost',
      ...set(this.#options.env),
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
      return command.roles.map((role) => ({ role, pid, metrics_port: metricsPort }));
    });
  }

  async #stopAll(): Promise<void> {
    const withinMs = this.#config.shutdownMs + STOP_SLACK_MS;
    const stop = (roles: readonly Supervisor[]): Promise<unknown> =>
      Promise.all(roles.map((role) => role.stop(withinMs)));
    // Of an interrupted start, what it was just claiming too.
    await this.#claims?.catch(() => {});
    for (const release of Object.values(this.#held)) release();
    this.#compilation?.kill();
    await this.#writing;
    if (this.#claimed) await removeDevFile(this.#dataDir);
    for (const intake of INTAKE_ORDER) {
      await stop(this.#roles.filter(({ command }) => command.roles.includes(intake)));
    }
    const takesIn = ({ command }: Supervisor): boolean =>
      command.roles.some((role) => INTAKE_ORDER.includes(role));
    await stop(this.#roles.filter((one) => !takesIn(one)));
    await this.#sandbox?.stop(withinMs);
    // After an interrupted start they may still be coming up.
    const stores = await this.#stores?.catch(() => undefined);
    await Promise.all([stores?.redis.stop(), stores?.postgres.stop()]);
    this.#guard.dismiss();
    if (this.#claimed) await releaseDirectory(this.#dataDir);
  }
}

/** Without variables that are empty: those count as not set. */
function set(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, text]) => text?.trim() !== ''));
}

/** A bad catalogue stops the start here, before nine processes complain. */
function checkCatalogue(config: ToolConfig): Catalogue {
  const file = config.cataloguePath ?? DEFAULT_CATALOGUE;
  return loadCatalogue(file, catalogueSources(config)).catalogue;
}

function addresses(host: string, port: number): Pick<DevFile, 'base_url' | 'dashboard_url'> {
  const origin = `http://${askableHost(host)}:${port}`;
  return { base_url: `${origin}/v1`, dashboard_url: `${origin}/dashboard` };
}

/**
 * The launcher makes a login for each process, which no pooler knows, and gives each the address of one server.
 * @throws ConfigError
 */
function refuseOthersConnections({ databasePooler, secrets }: ToolConfig): void {
  const given = {
    DATABASE_POOLER: databasePooler,
    DATABASE_DIRECT_URL: secrets.databaseDirectUrl,
    DATABASE_READ_URL: secrets.databaseReadUrl,
  };
  const problems = Object.entries(given).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name} is for processes that you start yourself`],
  );
  if (problems.length > 0) throw new ConfigError(problems);
}
