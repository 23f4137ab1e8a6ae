import { setTimeout as delay } from 'node:timers/promises';
import { Instance } from './instance.ts';
import { judge, type Verdict } from './judge.ts';
import { Load, sendOne } from './load.ts';
import { Random } from '#lab/support/random.ts';
import { RedisCluster } from './redis-cluster.ts';
import { RedisSentinel } from './redis-sentinel.ts';
import { excuses, type Storm, STORMS, type Weather } from './storms.ts';

/** Load before the storm, and after it. */
const CALM_MS = 2_000;
/** After a storm everything heals by itself; the longest wait is that between two starts of a store. */
const HEALED_MS = 90_000;
/** That send at the same time: enough that each process has requests in hand whenever it is struck. */
const CLIENTS = 12;

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
  const { name, instance: given, stopped } = options;
  const storm: Storm = STORMS[name]!;
  const on = given === undefined ? storm.on : undefined;
  const cluster = on === 'cluster' ? await RedisCluster.start() : null;
  const sentinel = on === 'sentinel' ? await RedisSentinel.start() : null;
  const env = { ...storm.env, ...cluster?.env, ...sentinel?.env };
  const instance = given ?? (await Instance.start({ env, diskMib: storm.diskMib }));
  try {
    const raging = rage(options, { instance, cluster, sentinel });
    return await (stopped === undefined ? raging : Promise.race([raging, stopped]));
  } catch (error) {
    throw new Error(`${name}: ${instance.output.slice(-3_000)}`, { cause: error });
  } finally {
    if (given === undefined) await instance.remove();
    await cluster?.stop();
    await sentinel?.stop();
  }
}

async function rage(
  { name, seed, seconds, say }: StormOptions,
  { instance, cluster, sentinel }: Pick<Weather, 'instance' | 'cluster' | 'sentinel'>,
): Promise<StormReport> {
  const storm: Storm = STORMS[name]!;
  const random = new Random(seed);
  const { base_url: baseUrl, api_key: apiKey } = instance.info;
  const target = { baseUrl, apiKey };
  await healed(target);
  say('load begins');
  const { list, excused } = excuses();
  const load = new Load(target, { name, random, clients: CLIENTS });
  let healedMs: number;
  try {
    await delay(CALM_MS);
    const endsAt = Date.now() + seconds * 1_000;
    await storm.run({ instance, cluster, sentinel, random, endsAt, say, excused });
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
  const { database_url: databaseUrl, redis_url: redisUrl } = instance.info;
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
