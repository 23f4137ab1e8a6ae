import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { createLogger } from './logger.ts';
import { serverEvents } from './master-events.ts';
import {
  createRegistry,
  type HealthServer,
  type ReadinessChecks,
  serveHealth,
  type ServesWithout,
} from './health-server.ts';
import { collectGarbage } from './collect-garbage.ts';
import { tellLauncher } from './tell-launcher.ts';
import { refuseToStart, startRefusal } from './start-refusal.ts';
import { type Config, loadConfig, withRedisUrl } from '#shared/config/config.ts';
import { buildName, readBuild } from './build.ts';
import { findNodes } from '#shared/lanes/redis/find-nodes.ts';
import { ServerWatch } from '#shared/lanes/redis/server-watch.ts';
import type { Role } from '#shared/config/settings.ts';

/** Given to every process. */
export interface ProcessContext {
  config: Config;
  log: Logger;
  registry: Registry;
  /** Unique for each start: names the process in lanes, inboxes and logs. */
  processId: string;
  /** The single server that its connections to Redis lead to, where that is no cluster. */
  server: ServerWatch;
}

/** The parts of a process. Building them connects to nothing. */
export interface ProcessParts {
  /** Checks that must pass before it can work, by name. */
  readiness: ReadinessChecks;
  /** What it can do without once it has started. Of roles that share a process none is asked. */
  servesWithout?: ServesWithout;
  /** Called once every check has passed. Returns the port of its API, if it has one. */
  start: () => Promise<{ port?: number } | void>;
  /** Takes no new work and finishes what is open; the caller bounds how long. */
  drain: () => Promise<void>;
  /** Closes connections. Called after `drain`, or when its time is over. */
  close: () => Promise<void>;
  /** On SIGHUP, which a process without it ignores. */
  reload?: () => void;
}

/** The pause between two looks of a process that waits for its stores. */
const STORE_RETRY_MS = 250;
const CLOSE_MS = 3_000;

/** Puts the parts of one role together. */
export type BuildRole = (context: ProcessContext) => Promise<ProcessParts>;

/**
 * The life of every process: read the configuration, serve health, wait for the stores (not ready, but alive), start,
 * say `ready`, and on SIGTERM or SIGINT drain within SHUTDOWN_MS and exit 0. Exit codes: 78 for a configuration that
 * cannot be used, 1 for a fault.
 */
export function runProcess(role: Role, build: BuildRole): Promise<void> {
  return runTogether([{ role, build }]);
}

/**
 * The same for several roles in one process. Each has its own parts, connections, log lines and metrics; they live and
 * end together: the process is ready when all of them are, and a fault of one is the end of all.
 */
export async function runTogether(
  roles: readonly { role: Role; build: BuildRole }[],
): Promise<void> {
  const config = readConfig();
  const contexts = roles.map(({ role }, i) => contextOf(role, config, i === 0));
  const { log } = contexts[0]!;
  process.once('uncaughtException', (error) => die(log, 'uncaught_exception', error));
  process.once('unhandledRejection', (error) => die(log, 'unhandled_rejection', error));
  let reload = nothingToReload(log);
  // Unhandled it would end the process: a notice to all of them to read the catalogue again must not do that.
  process.on('SIGHUP', () => reload());
  const stopping = stopSignal();
  let { redisUrl } = config.secrets;
  // What a process connects with depends on whether Redis is a cluster, so that is asked before its parts are made.
  const finding: ReadinessChecks = {
    redis: async () => {
      redisUrl = await findNodes(config.secrets.redisUrl);
    },
  };
  let parts: ProcessParts;
  let health: HealthServer;
  let started = false;
  const unlessStarted: ReadinessChecks = {
    started: () => (started ? Promise.resolve() : Promise.reject(new Error('starting'))),
  };
  try {
    health = await serveHealth({
      port: config.metricsPort,
      host: config.metricsHost,
      registries: contexts.map(({ registry }) => registry),
      readiness: { ...finding, ...unlessStarted },
    });
    tellLauncher({ metricsPort: health.port });
    if (!(await untilReachable(finding, log, stopping))) return await leave(health, log);
    const found = withRedisUrl(config, redisUrl);
    const built = await Promise.all(
      roles.map(({ build }, i) => build({ ...contexts[i]!, config: found })),
    );
    parts = built.length === 1 ? built[0]! : joined(roles, contexts, built);
    health.setReadiness({ ...parts.readiness, ...unlessStarted }, parts.servesWithout);
    reload = parts.reload ?? reload;
  } catch (error) {
    return failToStart(log, error);
  }
  if (await untilReachable(parts.readiness, log, stopping)) {
    try {
      const { port } = (await parts.start()) ?? {};
      // A process of a launcher shares a machine with all the others. Before it is ready, so before a caller waits.
      if (process.connected) collectGarbage();
      started = true;
      health.setStarted();
      const build = buildName(readBuild());
      for (const context of contexts) {
        context.log.info({ event: 'ready', port: port ?? 0, metrics_port: health.port, build });
      }
    } catch (error) {
      return failToStart(log, error);
    }
    await stopping;
  }
  await shutDown(parts, health, config.shutdownMs, log);
}

function nothingToReload(log: Logger): () => void {
  return () => log.info({ event: 'nothing_to_reload' });
}

function contextOf(role: Role, config: Config, first: boolean): ProcessContext {
  const log = createLogger({ role, level: config.logLevel });
  return {
    config,
    log,
    server: new ServerWatch(serverEvents(log)),
    registry: createRegistry(role, first),
    processId: `${role}-${hostname()}-${process.pid}-${randomBytes(4).toString('hex')}`,
  };
}

/** Several roles' parts as one. None of them that shares a process has an API. */
function joined(
  roles: readonly { role: Role }[],
  contexts: readonly ProcessContext[],
  parts: readonly ProcessParts[],
): ProcessParts {
  const readiness = parts.flatMap((one, i) =>
    Object.entries(one.readiness).map(([name, check]) => [`${roles[i]!.role}.${name}`, check]),
  );
  const each = async (act: (one: ProcessParts) => Promise<unknown>): Promise<void> => {
    await Promise.all(parts.map(act));
  };
  return {
    readiness: Object.fromEntries(readiness) as ReadinessChecks,
    start: () => each((one) => one.start()),
    drain: () => each((one) => one.drain()),
    close: () => each((one) => one.close()),
    reload: () => {
      for (const [i, one] of parts.entries()) (one.reload ?? nothingToReload(contexts[i]!.log))();
    },
  };
}

function readConfig(): Config {
  try {
    return loadConfig();
  } catch (error) {
    return refuseToStart(startRefusal(error) ?? String(error));
  }
}

/** Resolves with the first request to stop: a signal, or the parent's end of the pipe closing. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve('SIGTERM'));
    process.once('SIGINT', () => resolve('SIGINT'));
    // The launcher holds an IPC channel open for as long as it lives; when that closes, nothing else will stop this process.
    if (process.channel !== undefined && process.channel !== null) {
      process.once('disconnect', () => resolve('disconnect'));
      process.channel.unref();
    }
  });
}

/**
 * Waits for the stores. Returns false when the process is told to stop first. Says so at the second look: at the first,
 * connections may still be under way.
 */
async function untilReachable(
  readiness: ReadinessChecks,
  log: Logger,
  stopping: Promise<string>,
): Promise<boolean> {
  const stop = { asked: false };
  void stopping.then(() => (stop.asked = true));
  let looks = 0;
  while (!stop.asked) {
    const names = Object.keys(readiness);
    const results = await Promise.allSettled(Object.values(readiness).map((check) => check()));
    const failed = results.flatMap((result, i) =>
      result.status === 'rejected' ? [{ name: names[i]!, reason: result.reason as unknown }] : [],
    );
    if (failed.length === 0) return true;
    for (const { reason } of failed) {
      const refusal = startRefusal(reason);
      if (refusal !== undefined) return refuseToStart(refusal);
    }
    looks += 1;
    if (looks === 2) {
      const stores = failed.map(({ name }) => name);
      log.warn({ event: 'waiting_for_stores', stores, err: failed[0]!.reason });
    }
    await new Promise((resolve) => setTimeout(resolve, STORE_RETRY_MS));
  }
  return false;
}

async function shutDown(
  parts: ProcessParts,
  health: HealthServer,
  shutdownMs: number,
  log: Logger,
): Promise<void> {
  health.setDraining();
  log.info({ event: 'stopping' });
  const drained = await within(parts.drain(), shutdownMs, log);
  if (!drained) log.warn({ event: 'drain_incomplete' });
  await within(parts.close(), CLOSE_MS, log);
  await leave(health, log);
}

async function leave(health: HealthServer, log: Logger): Promise<never> {
  await within(health.close(), CLOSE_MS, log);
  log.info({ event: 'stopped' });
  process.exit(0);
}

async function within(work: Promise<void>, ms: number, log: Logger): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), ms);
  const done = work.then(
    () => true as const,
    (error: unknown) => {
      log.error({ event: 'stop_failed', err: error });
      return true as const;
    },
  );
  try {
    return await Promise.race([done, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Says in one line what must be mended before a start can succeed, or in full what went wrong. */
function failToStart(log: Logger, error: unknown): never {
  const refusal = startRefusal(error);
  return refusal === undefined ? die(log, 'start_failed', error) : refuseToStart(refusal);
}

function die(log: Logger, event: string, error: unknown): never {
  log.fatal({ event, err: error });
  process.exit(1);
}
