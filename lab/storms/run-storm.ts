import { setTimeout as delay } from 'node:timers/promises';
import { commitOf, oldestCommit } from '#lab/upgrade/build.ts';
import { runUpgrade } from '#lab/upgrade/run-upgrade.ts';
import { Hosts } from './hosts.ts';
import { Instance } from './instance.ts';
import { judge, type Verdict } from './judge.ts';
import { Load, sendOne } from './load.ts';
import { Random } from '#lab/support/random.ts';
import { RedisCluster } from './redis-cluster.ts';
import { RedisSentinel } from './redis-sentinel.ts';
import { type Conditions, excuses, type Storm, STORMS } from './storms.ts';

/** Load before the storm, and after it. */
const CALM_MS = 2_000;
/** After a storm everything heals by itself; the longest wait is that between two starts of a store. */
const HEALED_MS = 90_000;
/** That send at the same time: enough that each process has requests in hand whenever it is struck. */
const CLIENTS = 12;
/** Of an upgrade, for each second that a storm is to last: about what a machine of two cores answers beside its starts. */
const UPGRADE_REQUESTS_PER_SECOND = 50;

export interface StormOptions {
  name: string;
  seed: number;
  seconds: number;
  say: (line: string) => void;
  /** What it rages on, which stays as it is left; one of its own when absent. */
  instance?: Instance;
  /** Rejects when the operator has seen enough: what was started is stopped first. */
  stopped?: Promise<never>;
}

export interface StormReport extends Verdict {
  name: string;
  /** From the end of the storm to the first answer with a signed receipt. */
  healedMs: number;
  /** The promise was kept. */
  good: boolean;
}

/**
 * Lets a storm loose on the product under load, waits until it has healed, and judges what clients saw.
 * @throws Error with the last that the product has written, when there is no verdict
 */
export async function runStorm(options: StormOptions): Promise<StormReport> {
  const storm = stormOf(options);
  if (storm.on === 'builds') return upgrade(options);
  if (storm.on === 'hosts') {
    const hosts = await Hosts.start();
    return over(hosts, options, (conditions) => storm.run({ ...conditions, hosts }));
  }
  const { instance: given } = options;
  const on = given === undefined ? storm.on : undefined;
  const cluster = on === 'cluster' ? await RedisCluster.start() : null;
  const sentinel = on === 'sentinel' ? await RedisSentinel.start() : null;
  const env = { ...storm.env, ...cluster?.env, ...sentinel?.env };
  try {
    const instance = given ?? (await Instance.start({ env, diskMib: storm.diskMib }));
    return await over(instance, options, (conditions) =>
      storm.run({ ...conditions, instance, cluster, sentinel }),
    );
  } finally {
    await cluster?.stop();
    await sentinel?.stop();
  }
}

const stormOf = ({ name }: StormOptions): Storm => (STORMS as Record<string, Storm>)[name]!;

type Strike = (conditions: Conditions) => Promise<void>;

/** Rages over the product, which is removed at the end unless it was given. */
async function over(
  product: Instance | Hosts,
  options: StormOptions,
  strike: Strike,
): Promise<StormReport> {
  const { name, instance: given, stopped } = options;
  try {
    const raging = rage(options, product, strike);
    return await (stopped === undefined ? raging : Promise.race([raging, stopped]));
  } catch (error) {
    throw new Error(`${name}: ${product.output.slice(-3_000)}`, { cause: error });
  } finally {
    if (product !== given) await product.remove();
  }
}

/** One storm of another kind: it heals nothing, since no request may fail. */
async function upgrade({ name, seed, seconds, say, stopped }: StormOptions): Promise<StormReport> {
  const from = commitOf(oldestCommit() ?? '');
  if (from === undefined) throw new Error('docs/compatibility.md names no commit that is here');
  const requests = Math.ceil(seconds * UPGRADE_REQUESTS_PER_SECOND);
  const report = await runUpgrade({ from, requests, seed, say, stopped });
  return { ...report, name, healedMs: 0 };
}

async function rage(
  options: StormOptions,
  product: Instance | Hosts,
  strike: Strike,
): Promise<StormReport> {
  const { name, seed, seconds, say } = options;
  const storm = stormOf(options);
  const random = new Random(seed);
  const { base_url: baseUrl, api_key: apiKey } = product.info;
  const target = { baseUrl, apiKey };
  await healed(target);
  say('load begins');
  const { list, excused } = excuses();
  const load = new Load(target, { name, random, clients: CLIENTS });
  let healedMs: number;
  try {
    await delay(CALM_MS);
    const endsAt = Date.now() + seconds * 1_000;
    await strike({ random, endsAt, say, excused });
    say(`calm after ${load.calls} calls`);
    healedMs = await healed(target);
    await delay(CALM_MS);
  } catch (error) {
    // The load would go on under the next storm of the instance.
    void load.stop();
    throw error;
  }
  await load.stop();
  say('load has ended; judging');
  // Where they are now: stores that were killed with their launcher are started again on other ports.
  const { database_url: databaseUrl, redis_url: redisUrl } = product.info;
  const verdict = await judge({ databaseUrl, redisUrl }, load.attempts, list);
  if (storm.gentle === true) {
    const failed = load.attempts.filter(({ ending }) => ending !== 'whole');
    for (const { status, reason, stream } of failed.slice(0, 5)) {
      verdict.examples.push(`failed: ${stream ? 'stream' : 'plain'} ${status} ${reason}`);
    }
  }
  return { name, ...verdict, healedMs, good: isGood(verdict, storm) };
}

function isGood(verdict: Verdict, { gentle }: Storm): boolean {
  const { lost, doubled, mismatched, bare, sound, refused, excused } = verdict;
  const kept = lost + doubled + mismatched + bare === 0 && sound;
  return kept && (gentle !== true || refused + excused === 0);
}

/** Resolves with the time until a request is answered with a signed receipt. */
async function healed(target: { baseUrl: string; apiKey: string }): Promise<number> {
  const startedAt = Date.now();
  const body = JSON.stringify({
    model: 'llama-3.1-8b',
    messages: [{ role: 'user', content: 'Are you well?' }],
    max_tokens: 2,
  });
  for (;;) {
    const { attempt } = await sendOne(target, { body, stream: false, idempotencyKey: null });
    if (attempt.receipt?.includes('"proofValue"') === true) return Date.now() - startedAt;
    if (Date.now() - startedAt > HEALED_MS) throw new Error('it did not heal');
    await delay(100);
  }
}
