import { reasonOf } from '#shared/kernel/plain-text.ts';
import { type SentinelTarget, sentinelTargetOf } from '#shared/kernel/redis-url.ts';
import { askSentinel, type ServerAddress } from '#shared/lanes/redis/sentinel.ts';
import { type Finding, ok, problem, warning } from './finding.ts';

const NAME = 'Redis Sentinel';

/** Each Sentinel that the address names: it answers, knows the server, and enough of them agree to name another one. */
export async function examineSentinels(url: string): Promise<Finding[]> {
  const target = sentinelTargetOf(url);
  if (target === undefined) return [];
  const { sentinels, name } = target;
  const answers = await Promise.all(
    sentinels.map(async (at) => ({ at, why: await troubleOf(target, at) })),
  );
  const bad = answers.filter(({ why }) => why !== undefined);
  if (bad.length === 0)
    return [ok(NAME, `all ${sentinels.length} that are named answer, and have a quorum`)];
  const detail = bad.map(({ at, why }) => `${at.host}:${at.port}: ${why}`).join('; ');
  // A connection goes to the server that most of them name.
  const isEnough = sentinels.length - bad.length > sentinels.length / 2;
  const fix = `start those, or correct REDIS_URL: each of them has to be reached, to take its password and to know ${name}`;
  return [isEnough ? warning(NAME, detail, fix) : problem(NAME, detail, fix)];
}

async function troubleOf(target: SentinelTarget, at: ServerAddress): Promise<string | undefined> {
  try {
    await askSentinel(target, at, 'CKQUORUM', target.name);
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}
