import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { PATIENCE } from '#patience';
import { readBuild } from './build.ts';
import { metricsOf } from './metrics.ts';

/** Resolves when the named thing can be used, rejects or stays silent when it cannot. */
export type ReadinessCheck = () => Promise<unknown>;

export type ReadinessChecks = Readonly<Record<string, ReadinessCheck>>;

/** By the name of a check: whether the process serves all the same while that fails. */
export type ServesWithout = Readonly<Record<string, () => boolean>>;

export interface HealthOptions {
  port: number;
  host: string;
  /** Checks that must pass before the process may get work, by name. */
  readiness: ReadinessChecks;
  /** One for each role of the process. */
  registries: readonly Registry[];
}

export interface HealthServer {
  /** The port it got; differs from the one asked for when that was 0. */
  readonly port: number;
  /** Replaces the checks, once there is more to check. */
  setReadiness: (readiness: ReadinessChecks, servesWithout?: ServesWithout) => void;
  /** From now on /startupz says yes. */
  setStarted: () => void;
  /** From now on /readyz says no, so that no new work comes. */
  setDraining: () => void;
  close: () => Promise<void>;
}

/** Between looks at how late timers fire. Each wakes the process: at the default of 10 ms, idle ones did little else. */
const LOOP_SAMPLE_MS = 500;

/**
 * A registry for a role of the process, with the role on every series. The runtime's measurements are of the whole
 * process: where roles share one, they stand under the first.
 */
export function createRegistry(role: string, withRuntime: boolean = true): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  if (withRuntime) {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_SAMPLE_MS });
  }
  const { version, commit = 'unknown' } = readBuild();
  metricsOf(registry)
    .gauge(
      'docket_build_info',
      'Always 1; its labels are the version of this process and the commit that it was made at',
      ['version', 'commit'],
    )
    .set({ version, commit }, 1);
  return registry;
}

/** A probe that takes longer makes an orchestrator kill a process that is merely busy. */
const CHECK_MS = 500 * PATIENCE;
/** Probes and scrapes are tiny and local; one that takes longer to send is broken. */
const REQUEST_MS = 5_000;
/** More than all who look at a process; the others are descriptors for what it serves. */
const CONNECTIONS_MAX = 64;

/**
 * Serves `/livez` and `/healthz` (the event loop turns; they touch nothing else), `/startupz` (503 until the process has
 * started), `/readyz` (every check passes within 500 ms; 503 names those that do not, and 200 those that the process can do
 * without for now) and `/metrics` on a port of their own.
 * @throws the listen error (`EADDRINUSE`) when the port cannot be had.
 */
export async function serveHealth(options: HealthOptions): Promise<HealthServer> {
  const { host, registries } = options;
  let checks = checksOf(options.readiness);
  let without: ServesWithout = {};
  let draining = false;
  let hasStarted = false;
  const live = (reply: ServerResponse): void => sendJson(reply, 200, { status: 'ok' });
  const routes: Record<string, (reply: ServerResponse) => Promise<void> | void> = {
    '/livez': live,
    '/healthz': live,
    '/startupz': (reply) =>
      hasStarted ? live(reply) : sendJson(reply, 503, { status: 'starting' }),
    '/readyz': async (reply) => {
      if (draining) return sendJson(reply, 503, { status: 'draining', failing: [] });
      const failing = await failingOf(checks);
      if (failing.length === 0) return sendJson(reply, 200, { status: 'ok', failing });
      const ready = failing.every((name) => without[name]?.() === true);
      const status = ready ? 'degraded' : 'unavailable';
      return sendJson(reply, ready ? 200 : 503, { status, failing });
    },
    '/metrics': async (reply) => {
      const texts = await Promise.all(registries.map((registry) => registry.metrics()));
      reply
        .writeHead(200, { 'content-type': Registry.PROMETHEUS_CONTENT_TYPE })
        .end(mergeMetrics(texts));
    },
  };
  const server = createServer(
    { requestTimeout: REQUEST_MS, connectionsCheckingInterval: REQUEST_MS },
    (request, reply) => {
      answer(routes, request, reply).catch(() => reply.destroy());
    },
  );
  keepFewConnections(server);
  await listen(server, options.port, host);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    setReadiness: (readiness, servesWithout = {}) => {
      checks = checksOf(readiness);
      without = servesWithout;
    },
    setStarted: () => {
      hasStarted = true;
    },
    setDraining: () => {
      draining = true;
    },
    close: () => close(server),
  };
}

/** The texts of several registries as one: a metric that several have is described once, with the series of all. */
export function mergeMetrics(texts: readonly string[]): string {
  if (texts.length === 1) return texts[0]!;
  const metrics = new Map<string, string>();
  for (const block of texts.flatMap((text) => text.split(/^(?=# HELP )/m))) {
    const [help = '', type = '', ...series] = block.trim().split('\n');
    if (help === '') continue;
    const head = `${help}\n${type}\n`;
    metrics.set(head, (metrics.get(head) ?? head) + series.map((line) => `${line}\n`).join(''));
  }
  return [...metrics.values()].join('\n');
}

type Checks = readonly (readonly [name: string, check: ReadinessCheck])[];

function checksOf(readiness: ReadinessChecks): Checks {
  return Object.entries(readiness).map(([name, check]) => [name, oneAtATime(check)] as const);
}

async function answer(
  routes: Record<string, (reply: ServerResponse) => Promise<void> | void>,
  request: IncomingMessage,
  reply: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? '';
  const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
  if (route === undefined) return sendJson(reply, 404, { status: 'not found' });
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return sendJson(reply, 405, { status: 'method not allowed' });
  }
  await route(reply);
}

/** Names of the checks that fail or do not come back in time; all run at once. */
async function failingOf(checks: Checks): Promise<string[]> {
  const passed = await Promise.all(checks.map(([, check]) => passesInTime(check)));
  return checks.filter((_, index) => passed[index] !== true).map(([name]) => name);
}

function passesInTime(check: ReadinessCheck): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, CHECK_MS, false);
    check()
      .then(
        () => resolve(true),
        () => resolve(false),
      )
      .finally(() => clearTimeout(timer));
  });
}

/** Probes that come while a check hangs wait for that one: they must not pile up on a sick store. */
function oneAtATime(check: ReadinessCheck): ReadinessCheck {
  let current: Promise<unknown> | undefined;
  return () => {
    current ??= (async () => check())().finally(() => {
      current = undefined;
    });
    return current;
  };
}

function sendJson(reply: ServerResponse, status: number, body: object): void {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  reply.writeHead(status, headers).end(JSON.stringify(body));
}

/** The oldest goes when another comes: those that are held open must not keep a probe out. */
function keepFewConnections(server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    if (open.size <= CONNECTIONS_MAX) return;
    const [oldest] = open;
    open.delete(oldest!);
    oldest!.destroy();
  });
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

/** Scrapers keep their connections open; waiting for them would hold the process. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
