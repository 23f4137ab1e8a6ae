import { judge, type Verdict } from '#lab/storms/judge.ts';
import { type Build, THIS_BUILD } from './build.ts';
import { Callers } from './called.ts';
import { Ground, type Place } from './ground.ts';

export interface UpgradeOptions {
  /** The whole id of a commit. */
  from: string;
  /** Calls at least. */
  requests: number;
  seed: number;
  say: (line: string) => void;
  /** Rejects when the operator has seen enough: what was started is stopped first. */
  stopped?: Promise<never> | undefined;
}

export interface UpgradeReport extends Verdict {
  /** Calls that came to anything but a whole answer, those that were repeated among them. */
  failed: number;
  good: boolean;
}

/** Failed calls that are shown. */
const SHOWN_MAX = 5;

/** Upgrades from a commit to this tree and back while clients call, and compares what they got with every receipt. */
export async function runUpgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const { from, say, stopped } = options;
  const ground = await Ground.start();
  let callers: Callers | undefined;
  const run = async (): Promise<UpgradeReport> => {
    const old = await ground.unpack(from);
    const target = await ground.startAll(old);
    say(`${old.name} runs: ${ground.places.map(({ kind }) => kind).join(', ')}`);
    callers = new Callers(target, ground.directory, options.seed);
    const steps = ground.places.length * 2 + 1;
    const share = Math.ceil(options.requests / steps);
    await callers.more(share);
    ground.migrate(THIS_BUILD);
    say('migrated');
    const { places } = ground;
    await replaceAll({ ground, callers, share, say }, THIS_BUILD, places);
    await replaceAll({ ground, callers, share, say }, old, places.toReversed());
    const attempts = await callers.end();
    say('every call has ended; judging');
    const verdict = await judge(ground, attempts, []);
    const failed = attempts.filter(({ ending }) => ending !== 'whole');
    for (const { stream, status, reason, idempotencyKey, startedAt } of failed.slice(
      0,
      SHOWN_MAX,
    )) {
      const what = `${stream ? 'streamed' : 'whole'}, ${idempotencyKey ?? 'no key'}`;
      verdict.examples.push(
        `failed: ${what}: ${status} ${reason}, sent ${new Date(startedAt).toISOString()}`,
      );
    }
    const { lost, doubled, mismatched, sound } = verdict;
    const good = failed.length + lost + doubled + mismatched === 0 && sound;
    return { ...verdict, failed: failed.length, good };
  };
  try {
    return await (stopped === undefined ? run() : Promise.race([run(), stopped]));
  } finally {
    callers?.kill();
    await ground.remove();
  }
}

interface Standing extends Pick<UpgradeOptions, 'say'> {
  ground: Ground;
  callers: Callers;
  /** Calls between two steps: each mixture of builds is called. */
  share: number;
}

async function replaceAll(
  { ground, callers, share, say }: Standing,
  build: Build,
  places: readonly Place[],
): Promise<void> {
  for (const place of places) {
    await ground.replace(place, build);
    say(`${place.kind} is ${Ground.buildOf(place)} now, after ${callers.calls} calls`);
    await callers.more(share);
  }
  await callers.repeat();
  say('calls were repeated with their keys');
}
