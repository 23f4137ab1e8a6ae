import { Redis } from 'ioredis';
import { PATIENCE } from '#patience';
import { type SentinelTarget, sentinelTargetOf } from '#shared/kernel/redis-url.ts';
import { identityOf, masterOf } from './sentinel.ts';

/** A node that is there answers in milliseconds; the next one is asked after this. */
const ANSWER_MS = 2_000 * PATIENCE;
/** Not a cluster, or a server that does not let a client ask, as managed ones of a single node. */
const NO_CLUSTER = /cluster support disabled|NOPERM|unknown command/i;

/**
 * The URL to connect with: that of a single server as it is, also behind Sentinel, and for a cluster, of which one node is
 * enough, all of its nodes separated by commas, with the user, the password and the TLS of the one that was named.
 * @throws the error of the last node that was asked when none answers
 */
export async function findNodes(url: string): Promise<string> {
  const target = sentinelTargetOf(url);
  if (target !== undefined) {
    await reachMaster(target);
    return url;
  }
  const seeds = url.split(',');
  let failure: unknown;
  for (const seed of seeds) {
    try {
      const nodes = await askNodes(seed);
      return nodes === null ? url : allNodes(seed, nodes).join(',');
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

const ONCE = {
  lazyConnect: true,
  protocol: 2,
  retryStrategy: () => null,
  maxRetriesPerRequest: 0,
  connectTimeout: ANSWER_MS,
  commandTimeout: ANSWER_MS,
} as const;

/** @throws Error when the Sentinels name no server, or it does not answer */
async function reachMaster(target: SentinelTarget): Promise<void> {
  const client = new Redis({ ...identityOf(target), ...(await masterOf(target)), ...ONCE });
  let lastError: unknown;
  client.on('error', (error) => (lastError = error));
  try {
    await client.connect();
  } catch (error) {
    throw lastError ?? error;
  } finally {
    client.disconnect();
  }
}

/** Host and port of every node; null when this is a single server. */
async function askNodes(seed: string): Promise<[host: string | null, port: number][] | null> {
  let lastError: unknown;
  const client = new Redis(seed, ONCE);
  client.on('error', (error) => (lastError = error));
  try {
    await client.connect();
    const slots = await client.cluster('SLOTS');
    return slots.flatMap(([, , ...nodes]) =>
      nodes.map(([host, port]): [host: string | null, port: number] => [host, port]),
    );
  } catch (error) {
    if (NO_CLUSTER.test(String(error))) return null;
    throw lastError ?? error;
  } finally {
    client.disconnect();
  }
}

/** At least two, which tells a cluster of one node from a single server. */
function allNodes(seed: string, nodes: readonly [host: string | null, port: number][]): string[] {
  const urls = nodes.map(([host, port]) => {
    const node = new URL(seed);
    // A node that does not know its own address is to be reached where it was asked.
    if (host !== null && host !== '') node.hostname = host.includes(':') ? `[${host}]` : host;
    node.port = String(port);
    return node.href.replace(/\/+$/, '');
  });
  const distinct = [...new Set([...urls, seed])];
  return distinct.length > 1 ? distinct : [seed, seed];
}
