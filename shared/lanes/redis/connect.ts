import { type Cluster, type ClusterOptions, Redis, type RedisOptions } from 'ioredis';
import { PATIENCE } from '#patience';
import { sentinelTargetOf } from '#shared/kernel/redis-url.ts';
import { FollowingCluster, type MasterChange } from './following-cluster.ts';
import { markBehindSentinel } from './replicated.ts';
import { connectorBehind, identityOf as identityBehind } from './sentinel.ts';
import type { ServerWatch, WatchOptions } from './server-watch.ts';
import { TurnRedis } from './turn-redis.ts';

/** One node or a cluster: the lanes use only what both offer. */
export type RedisClient = Redis | Cluster;

/** The part of the client's options that one node and a cluster share. */
type ConnectionOptions = Pick<
  RedisOptions,
  | 'connectionName'
  | 'connectTimeout'
  | 'noDelay'
  | 'protocol'
  | 'maxRetriesPerRequest'
  | 'autoResendUnfulfilledCommands'
  | 'commandTimeout'
  | 'socketTimeout'
>;

export interface RedisConnectOptions {
  /**
   * `redis://host:port[/db]`, `rediss://…`, several nodes of a cluster separated by commas (see `findNodes`), or a server
   * behind Sentinel.
   */
  url: string;
  /** Shown by CLIENT LIST. */
  name: string;
  /**
   * `interactive`: a caller waits, so a command fails within `INTERACTIVE_TIMEOUT_MS` and is never queued while the
   * server is away; `admission`: the same, but its caller times it (see `Admissions`). `patient`: background work, which waits for the server to come back. `blocking`: a reader that parks
   * in XREAD; it must not share its connection. `jobs`: what BullMQ is given; it parks on copies of it, for longer.
   */
  use: 'interactive' | 'admission' | 'patient' | 'blocking' | 'jobs';
  /** Sees to it that the connections of a process to a single server lead to the one that takes writes. */
  server?: ServerWatch;
  /** Told of a cluster's masters. One connection of a process is enough for that. */
  onMaster?: (change: MasterChange) => void;
}

/** A request must fail within a second when Redis is gone (also when packets vanish without a reset). */
const INTERACTIVE_TIMEOUT_MS = 800 * PATIENCE;
/** A parked read returns at least every `BLOCK_MS`; when it does not, the connection is dead. */
export const BLOCK_MS = 2_000;
const BLOCKING_TIMEOUT_MS = 5_000 * PATIENCE;
/** BullMQ parks for up to ten seconds, which no option of it shortens; a connection that is silent for longer is dead. */
const JOBS_TIMEOUT_MS = 30_000;
const CONNECT_TIMEOUT_MS = 2_000 * PATIENCE;
const RECONNECT_MAX_MS = 500;
/** Nodes that came back, or are new, are known after this, also when nothing has failed since: replicas are waited for. */
const NODES_REFRESH_MS = 5_000;
/** A reader needs only the master of its slot, which it is told when that changes. */
const READERS_REFRESH_MS = 60_000;

/** Opens a connection. Errors are reported to `onError`, never thrown: the client reconnects by itself for ever. */
export function connectRedis(
  options: RedisConnectOptions,
  onError: (error: Error) => void = () => {},
): RedisClient {
  const isCluster = sentinelTargetOf(options.url) === undefined && options.url.includes(',');
  const client = isCluster ? connectCluster(options) : connectNode(options);
  client.on('error', onError);
  return client;
}

function connectNode(options: RedisConnectOptions): Redis {
  const { url, use, server } = options;
  const target = sentinelTargetOf(url);
  const open = (more: Partial<WatchOptions>): Redis => {
    const Client = use === 'blocking' ? Redis : TurnRedis;
    const given = {
      ...optionsFor(options),
      enableOfflineQueue: queues(options),
      retryStrategy,
    };
    if (target === undefined) return new Client(url, { ...given, ...more });
    const Connector = connectorBehind(target);
    return markBehindSentinel(
      new Client({ ...given, ...identityBehind(target), Connector, ...more }),
    );
  };
  return server?.connect(open, target) ?? open({});
}

function connectCluster(options: RedisConnectOptions): Cluster {
  const { url, use, onMaster = () => {} } = options;
  const nodes = url.split(',');
  const settings = {
    ...CLUSTER_OPTIONS,
    // A request that may have been admitted must not be admitted a second time: its caller is told to try again.
    ...(queues(options) ? {} : NEVER_REPEATED),
    redisOptions: { ...optionsFor(options), ...identityOf(nodes[0]!) },
    enableOfflineQueue: queues(options),
    slotsRefreshInterval: use === 'blocking' ? READERS_REFRESH_MS : NODES_REFRESH_MS,
    enableAutoPipelining: use !== 'blocking',
    clusterRetryStrategy: retryStrategy,
  };
  return new FollowingCluster(nodes.map(addressOf), settings, onMaster);
}

const queues = ({ use }: RedisConnectOptions): boolean =>
  use !== 'interactive' && use !== 'admission';
const retryStrategy = (times: number): number => Math.min(times * 50, RECONNECT_MAX_MS);

const CLUSTER_OPTIONS: ClusterOptions = {
  // Names stay names, because certificates are made out to them.
  dnsLookup: (name, answer) => answer(null, name),
};

const NEVER_REPEATED: ClusterOptions = { retryDelayOnFailover: 0, retryDelayOnClusterDown: 0 };

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 6_379) };
}

/** What every node of a cluster is told, also one that was not named in the URL. */
function identityOf(url: string): Pick<RedisOptions, 'username' | 'password' | 'tls'> {
  const { protocol, username, password } = new URL(url);
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === 'rediss:' ? { tls: {} } : {}),
  };
}

function optionsFor({ name, use }: RedisConnectOptions): ConnectionOptions {
  const base: ConnectionOptions = {
    connectionName: name,
    connectTimeout: CONNECT_TIMEOUT_MS,
    noDelay: true,
    // Half the cost of a read, and what is read becomes garbage early: the client's decoder of RESP 3 keeps replies alive.
    protocol: 2,
  };
  if (use === 'interactive' || use === 'admission') {
    const options = { ...base, maxRetriesPerRequest: 0, autoResendUnfulfilledCommands: false };
    return use === 'admission' ? options : { ...options, commandTimeout: INTERACTIVE_TIMEOUT_MS };
  }
  const socketTimeout = use === 'jobs' ? JOBS_TIMEOUT_MS : BLOCKING_TIMEOUT_MS;
  return { ...base, maxRetriesPerRequest: null, socketTimeout };
}
