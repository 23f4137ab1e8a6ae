import { Redis, type RedisOptions } from 'ioredis';
import type { StandaloneConnector } from 'ioredis/built/connectors/index.js';
import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '#patience';
import type { SentinelTarget } from '#shared/kernel/redis-url.ts';
import { checkingConnector, type Connector, type Info } from './connectors.ts';

/** A Sentinel that is there answers in milliseconds. */
const ANSWER_MS = 1_000 * PATIENCE;
/** Until they are asked again, where most of them name no server, or not the same. */
const RETRY_MS = 100;
/** Between attempts to hear of failovers from one that is away. */
const LISTEN_AGAIN_MS = 1_000;

export interface ServerAddress {
  host: string;
  port: number;
}

/** A connection to one Sentinel, which does not come back by itself. */
function connectSentinel(
  { sentinelUsername, sentinelPassword, isTls }: SentinelTarget,
  { host, port }: ServerAddress,
  more: Pick<RedisOptions, 'commandTimeout' | 'retryStrategy' | 'maxRetriesPerRequest'> = {},
): Redis {
  const client = new Redis({
    host,
    port,
    ...(sentinelUsername === undefined ? {} : { username: sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    ...(isTls ? { tls: {} } : {}),
    lazyConnect: true,
    protocol: 2,
    enableReadyCheck: false,
    connectTimeout: ANSWER_MS,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    ...more,
  });
  // What is wrong is told to those who wait for an answer.
  client.on('error', () => {});
  return client;
}

/**
 * The server that most of the Sentinels name. One alone may be behind, or in the middle of a failover that comes to nothing.
 * @throws Error when they do not, within a second
 */
export async function masterOf(target: SentinelTarget): Promise<ServerAddress> {
  const { sentinels, name } = target;
  const needed = Math.floor(sentinels.length / 2) + 1;
  const votes = new Map<string, number>();
  const { promise, resolve, reject } = Promise.withResolvers<ServerAddress>();
  const others: string[] = [];
  const asked = sentinels.map(async (at) => {
    try {
      const server = await askForMaster(target, at);
      const text = `${server.host} ${server.port}`;
      votes.set(text, (votes.get(text) ?? 0) + 1);
      if (votes.get(text) === needed) resolve(server);
      others.push(`${at.host}:${at.port} names ${server.host}:${server.port}`);
    } catch (error) {
      others.push(`${at.host}:${at.port}: ${(error as Error).message}`);
    }
  });
  void Promise.all(asked).then(() =>
    reject(
      new Error(
        `${needed} of ${sentinels.length} Sentinels have to name one server as ${name}: ${others.join('; ')}`,
      ),
    ),
  );
  return promise;
}

async function askForMaster(target: SentinelTarget, at: ServerAddress): Promise<ServerAddress> {
  const answer = await askSentinel(target, at, 'GET-MASTER-ADDR-BY-NAME', target.name);
  if (!Array.isArray(answer)) throw new Error(`it knows no ${target.name}`);
  return { host: String(answer[0]), port: Number(answer[1]) };
}

/**
 * What one Sentinel answers to `SENTINEL <words>`.
 * @throws Error why it does not, within a second
 */
export async function askSentinel(
  target: SentinelTarget,
  at: ServerAddress,
  ...words: [string, ...string[]]
): Promise<unknown> {
  const client = connectSentinel(target, at, { commandTimeout: ANSWER_MS });
  // What is thrown says of a connection that is refused that it is closed.
  let lost: unknown;
  client.on('error', (error) => (lost = error));
  try {
    await client.connect();
    return await client.call('SENTINEL', ...words);
  } catch (error) {
    throw lost ?? error;
  } finally {
    client.disconnect();
  }
}

/** What a server behind Sentinel is told with each connection. */
export function identityOf({
  username,
  password,
  db,
  isTls,
}: SentinelTarget): Pick<RedisOptions, 'username' | 'password' | 'db' | 'tls'> {
  return {
    db,
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isTls ? { tls: {} } : {}),
  };
}

/**
 * Asks the Sentinels for the server, each time that a connection is made. The client's own connector for them ends a
 * connection for ever when it hears of a failover while it asks.
 */
export function connectorBehind(
  target: SentinelTarget,
  mayUse: (info: Info) => boolean = () => true,
): Connector {
  const shared = sharedAsking(target);
  return class extends checkingConnector(mayUse) {
    override async connect(
      tell: Parameters<StandaloneConnector['connect']>[0],
    ): ReturnType<StandaloneConnector['connect']> {
      this.connecting = true;
      // Never given up: the client would take that for the end of the connection.
      for (;;) {
        const server = await shared().catch((error: unknown) => tell('error', error as Error));
        if (!this.connecting) throw new Error('Connection is closed.');
        if (server !== undefined) {
          Object.assign(this.options, server);
          return super.connect(tell);
        }
        await delay(RETRY_MS);
      }
    }
  };
}

/** Connections that are made at the same time ask once. */
const asking = new Map<string, Promise<ServerAddress>>();

function sharedAsking(target: SentinelTarget): () => Promise<ServerAddress> {
  const key = JSON.stringify(target);
  return () => {
    const known = asking.get(key);
    if (known !== undefined) return known;
    const asked = masterOf(target).finally(() => asking.delete(key));
    asking.set(key, asked);
    return asked;
  };
}

/** Tells of each server that a Sentinel names in the place of another, until it is stopped. */
export function listenForFailovers(
  target: SentinelTarget,
  onServer: (server: ServerAddress) => void,
): { stop: () => void } {
  const clients = target.sentinels.map((at) => {
    const client = connectSentinel(target, at, {
      retryStrategy: () => LISTEN_AGAIN_MS,
      maxRetriesPerRequest: null,
    });
    client.on('message', (_channel: string, text: string) => {
      const [name, , , host, port] = text.split(' ');
      // Sentinels may watch other servers as well.
      if (name === target.name && host !== undefined) onServer({ host, port: Number(port) });
    });
    client.subscribe('+switch-master').catch(() => {});
    return client;
  });
  return { stop: () => clients.forEach((client) => client.disconnect()) };
}
