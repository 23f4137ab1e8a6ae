import { once } from 'node:events';
import { Cluster, type Redis } from 'ioredis';
import { PATIENCE } from '#patience';
import { connectRedis, type RedisClient } from '#shared/lanes/redis/connect.ts';
import { findNodes } from '#shared/lanes/redis/find-nodes.ts';
import { readCircuits } from '#shared/catalogue/redis/circuits.ts';
import { checkDurability } from '#shared/lanes/redis/durability.ts';
import { OWED_CHANNEL } from '#shared/ledger/redis/owed-notices.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { mayFailOver } from '#shared/lanes/redis/replicated.ts';
import type { ToolConfig } from '#shared/config/config.ts';
import { compareClocks } from './clock.ts';
import { examinePeers } from './peers.ts';
import { examineSentinels } from './sentinels.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

const READY_MS = 3_000 * PATIENCE;
/** The lanes read with XAUTOCLAIM, which came with it. */
const VERSION_MIN = [6, 2] as const;

/** Looks at Redis: reachable, version, one node or a cluster, durability, clock, rights, and the circuits that are open. */
export async function examineRedis(
  url: string,
  { allowVolatileRedis, shards }: Pick<ToolConfig, 'allowVolatileRedis' | 'shards'>,
): Promise<Finding[]> {
  const failures: Error[] = [];
  const behind = await examineSentinels(url);
  const nodes = await findNodes(url).catch(() => url);
  const client = connectRedis({ url: nodes, name: 'docket doctor', use: 'interactive' }, (error) =>
    failures.push(error),
  );
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(READY_MS) });
    return [
      await version(client),
      await topology(client, shards),
      await durability(client, allowVolatileRedis),
      await clock(client),
      await notices(client),
      ...(await circuits(client)),
      ...(await examinePeers(client)),
      ...behind,
    ];
  } catch (error) {
    const why = reasonOf(failures[0] ?? error);
    return [
      problem('Redis', `cannot be reached: ${why}`, 'start it, or correct REDIS_URL'),
      skipped('Redis durability', 'Redis cannot be reached'),
      ...behind,
    ];
  } finally {
    client.disconnect();
  }
}

async function version(client: RedisClient): Promise<Finding> {
  const info = await oneNode(client).info('server');
  const product = /^valkey_version:/m.test(info) ? 'Valkey' : 'Redis';
  const text = /^(?:valkey|redis)_version:(\S+)/m.exec(info)?.[1] ?? 'unknown';
  const [major = 0, minor = 0] = text.split('.').map(Number);
  const [majorMin, minorMin] = VERSION_MIN;
  const detail = `${product}, version ${text}`;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return ok('Redis', detail);
  return problem('Redis', detail, `use Redis ${VERSION_MIN.join('.')} or newer, or Valkey`);
}

/** Without the right to it everything works, and receipts wait longer; so a new installation may not notice. */
async function notices(client: RedisClient): Promise<Finding> {
  const name = 'Redis rights';
  try {
    // Ledger workers look for receipts because of it, and find those that there are.
    await client.publish(OWED_CHANNEL, '');
    return ok(name, 'notices of receipts reach ledger workers');
  } catch (error) {
    const detail = `the channel ${OWED_CHANNEL} may not be used, so receipts wait up to two seconds longer: ${reasonOf(error)}`;
    return warning(name, detail, `give the user &${OWED_CHANNEL} (ACL SETUSER)`);
  }
}

/** A cluster has its masters' replicas to lose, and work for all of them only with as many shards. */
async function topology(client: RedisClient, shards: number): Promise<Finding> {
  const name = 'Redis topology';
  const node = oneNode(client);
  if (!/^cluster_enabled:1/m.test(await node.info('cluster'))) {
    return mayFailOver(client) ? await standIns(name, node) : ok(name, 'one node');
  }
  const lines = String(await node.cluster('NODES')).split('\n');
  const flags = lines.map((line) => line.split(' ')[2] ?? '');
  const masters = flags.filter((flag) => /\bmaster\b/.test(flag) && !/\bfail\b/.test(flag)).length;
  const replicas = flags.filter((flag) => /\bslave\b/.test(flag) && !/\bfail\b/.test(flag)).length;
  const detail = `a cluster of ${masters} masters and ${replicas} replicas, SHARDS is ${shards}`;
  if (!/^cluster_state:ok/m.test(await node.cluster('INFO'))) {
    return problem(name, `${detail}; it does not serve all slots`, 'bring the missing nodes back');
  }
  if (replicas < masters) {
    return warning(name, detail, 'give every master a replica, or its loss stops its shards');
  }
  return shards < masters
    ? warning(name, detail, 'set SHARDS to a multiple of the masters, for every process alike')
    : ok(name, detail);
}

/** A server behind Sentinel has replicas to take its place, and refuses writes that none of them gets. */
async function standIns(name: string, node: Redis): Promise<Finding> {
  const info = await node.info('replication');
  const count = Number(/^connected_slaves:(\d+)/m.exec(info)?.[1] ?? 0);
  const detail = `a server behind Sentinel, replicas: ${count}`;
  if (count === 0) {
    return warning(name, detail, 'give it a replica, or no server can take its place');
  }
  // The line is there where the setting is above zero.
  if (/^min_slaves_good_slaves:/m.test(info)) return ok(name, detail);
  return warning(
    name,
    `${detail}; cut off from them it would take writes that are lost`,
    'set min-replicas-to-write 1 and min-replicas-max-lag 10 on every server',
  );
}

async function durability(client: RedisClient, volatileAllowed: boolean): Promise<Finding> {
  const name = 'Redis durability';
  try {
    await checkDurability(client);
    return ok(name, 'append-only file on, nothing is evicted');
  } catch (error) {
    const fix = 'set appendonly yes and maxmemory-policy noeviction';
    const detail = reasonOf(error);
    return volatileAllowed
      ? warning(name, `${detail} (ALLOW_VOLATILE_REDIS is set)`, fix)
      : problem(name, detail, fix);
  }
}

/** Endpoints that inference workers do not call at present, after failures in a row. */
async function circuits(client: RedisClient): Promise<Finding[]> {
  const { open, reached } = await readCircuits(client);
  if (open.size === 0) return [ok('circuits', 'all closed')];
  return [...open].toSorted().map((circuit) => {
    const [region, endpoint] = circuit.split(' ');
    const there = reached.has(circuit) ? '; something answers there again' : '';
    const detail = `${endpoint} is cut off in ${region} after failures in a row${there}`;
    const fix =
      'mend the endpoint: the log line upstream_failed says what is wrong; one request in a while tries it, and closes it';
    return problem(`circuit ${circuit}`, detail, fix);
  });
}

async function clock(client: RedisClient): Promise<Finding> {
  const asked = Date.now();
  const [seconds, micros] = await oneNode(client).time();
  const theirs = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  return compareClocks('Redis', theirs, asked, Date.now());
}

/** Of a cluster, any node stands for all: they are one deployment. */
function oneNode(client: RedisClient): Exclude<RedisClient, Cluster> {
  if (!(client instanceof Cluster)) return client;
  const [first] = client.nodes('master');
  if (first === undefined) throw new Error('the cluster has no master');
  return first;
}
