/**
 * A control beside what is measured in seconds: how late this machine is meanwhile, in a timer and in an echo of another
 * process. A window that was not kept while the machine was late says nothing of the product and is measured again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { atFileEnd } from './file-end.ts';
import { connectTo } from './lanes.ts';
import { startTestRedis } from './redis.ts';

/** Between two looks: several fall into the shortest wait that counts as late. */
const LOOK_MS = 25;
/** About so often a request waits for a processor: its client, api, Redis, a worker and the upstream, there and back. */
const WAITS = 10;
const REPETITIONS_MAX = 3;

/** What the control looks at, or a double of it. */
export interface Machine {
  now(): number;
  pause(ms: number): Promise<unknown>;
  /** Resolves when another process has answered. */
  echo(): Promise<unknown>;
  say(sentence: string): void;
}

/**
 * Measures a window; again, at most three times, when it was not kept and the machine was late. What is found last is
 * returned, kept or not. A look is late when ten waits as long as it would use up the slack: what the promise leaves over
 * the time that the product takes by its own clocks.
 */
export async function measuredOn<T>(
  machine: Machine,
  slackMs: number,
  measure: () => Promise<T>,
  isKept: (found: T) => boolean,
): Promise<T> {
  const lateMs = slackMs / WAITS;
  for (let repetition = 1; ; repetition += 1) {
    const { found, latestMs } = await besideControl(machine, measure);
    if (isKept(found) || latestMs <= lateMs || repetition > REPETITIONS_MAX) return found;
    machine.say(
      `A window was not kept while this machine was ${Math.round(latestMs)} ms late, more than ${lateMs} ms; it is measured again, ${repetition} of at most ${REPETITIONS_MAX} times.`,
    );
  }
}

async function besideControl<T>(
  machine: Machine,
  measure: () => Promise<T>,
): Promise<{ found: T; latestMs: number }> {
  const control = { isOver: false, latestMs: 0 };
  const look = async (): Promise<void> => {
    while (!control.isOver) {
      const begun = machine.now();
      await machine.pause(LOOK_MS);
      await machine.echo();
      control.latestMs = Math.max(control.latestMs, machine.now() - begun - LOOK_MS);
    }
  };
  const looking = look();
  // A window that fails before a look does is the one that is told.
  looking.catch(() => {});
  try {
    const found = await measure();
    control.isOver = true;
    // A look under way is of this window, too.
    await looking;
    return { found, latestMs: control.latestMs };
  } finally {
    control.isOver = true;
  }
}

let ownRedis: Promise<Redis> | undefined;

/** An echo of a Redis of its own: the product's is late also when the product keeps it busy, or a test has frozen it. */
function openRedis(): Promise<Redis> {
  ownRedis ??= startTestRedis().then(({ url }) => {
    atFileEnd(() => (ownRedis = undefined));
    return connectTo(url);
  });
  return ownRedis;
}

/** As `measuredOn` this machine. */
export async function measured<T>(
  slackMs: number,
  measure: () => Promise<T>,
  isKept: (found: T) => boolean,
): Promise<T> {
  const redis = await openRedis();
  const machine: Machine = {
    now: () => performance.now(),
    pause,
    echo: () => redis.ping(),
    say: (sentence) => process.stderr.write(`${sentence}\n`),
  };
  return measuredOn(machine, slackMs, measure, isKept);
}

/** Milliseconds that something took which is promised to take less than so many, all of them slack unless it is said. */
export function tookMs(
  promisedMs: number,
  measure: () => Promise<number>,
  slackMs = promisedMs,
): Promise<number> {
  return measured(slackMs, measure, (found) => found < promisedMs);
}
