import { everySecond } from '#shared/kernel/every-second.ts';
import type { RedisClient } from '#shared/lanes/redis/connect.ts';
import { JOBS, type JobPayload, type ScheduledJobName } from '../table.ts';
import { JOB_PREFIX, LAST_ROUNDS } from './job-queues.ts';
import { runWithin, type JobHandler, type JobObserver } from './job-runner.ts';

export interface RoundsOptions<N extends ScheduledJobName> {
  name: N;
  handler: JobHandler<N>;
  turns: Turns;
  observer: JobObserver;
  /** Monotonic milliseconds. */
  now?: () => number;
}

/** How the last round of a job came out, wherever it ran. */
export interface LastRound {
  /** When it ended, in epoch milliseconds. */
  at: number;
  /** Why it failed; null when it did not. */
  failure: string | null;
  /** How often in a row it has failed and been tried again. */
  attempts: number;
}

/** Whose turn a round is, over all processes. */
export interface Turns {
  /** Takes the turn for so long, unless another process has it: then in how many milliseconds it is free at the latest. */
  take(name: ScheduledJobName, forMs: number): Promise<'taken' | number>;
  /** No worker takes it for so long from now; with 0 any may, because a round has failed. */
  keep(name: ScheduledJobName, forMs: number): Promise<void>;
  /** Notes for operators how a round came out. */
  ended(name: ScheduledJobName, round: LastRound): Promise<void>;
}

/**
 * Looks are a second apart, and a process that has a turn asks for the next one at the look at which it is due: by then
 * the last one must be over, however long the two times of asking took.
 */
const OVER_BEFORE_MS = 500;

/** Turns in Redis, of which one that is lost with it is taken again. */
export function createTurns(redis: RedisClient): Turns {
  const keyOf = (name: string): string => `${JOB_PREFIX}:turn:${name}`;
  return {
    async take(name, forMs) {
      const key = keyOf(name);
      if ((await redis.set(key, '1', 'PX', forMs, 'NX')) === 'OK') return 'taken';
      return Math.max(0, await redis.pttl(key));
    },
    async keep(name, forMs) {
      await redis.set(keyOf(name), '1', 'PX', Math.max(1, Math.floor(forMs)));
    },
    async ended(name, round) {
      await redis.hset(LAST_ROUNDS, name, JSON.stringify(round));
    },
  };
}

/**
 * Runs a job by the clock: at once, and then as far apart as its row of the table says, in one of all processes that run
 * it. A turn is taken for the time that a round may take and, once that is done, kept until the next: the round of a
 * process that dies is made up for. A round that fails is tried again after the wait of its row, as often as it says.
 */
export function runRounds<N extends ScheduledJobName>(options: RoundsOptions<N>) {
  const { name, handler, turns, observer, now = () => performance.now() } = options;
  const row = JOBS[name];
  const stopping = new AbortController();
  let dueAt = -Infinity;
  const keptMs = row.everyMs - OVER_BEFORE_MS;
  const takenMs = Math.min(keptMs, row.timeoutMs);
  let failures = 0;
  let running: Promise<void> | undefined;

  /** Returns for how long no worker is to take the turn, counted from the begin of the round. */
  async function round(): Promise<number> {
    const startedAt = now();
    try {
      await runWithin(name, (signal) => handler({} as JobPayload<N>, signal), stopping.signal);
      failures = 0;
      observer.done(name, now() - startedAt);
      note(null, 0);
      return keptMs;
    } catch (error) {
      failures += 1;
      const final = failures >= row.attempts;
      observer.failed(name, error, final);
      note(error instanceof Error ? error.message : String(error), failures);
      if (final) failures = 0;
      else dueAt = now() + row.backoffMs * 2 ** (failures - 1);
      return final ? keptMs : 0;
    }
  }

  /** Sent with what follows; that it could not be noted does not make the round undone. */
  function note(failure: string | null, attempts: number): void {
    turns
      .ended(name, { at: Date.now(), failure, attempts })
      .catch((error: unknown) => observer.queueFailed(name, error));
  }

  async function look(): Promise<void> {
    const startedAt = now();
    dueAt = startedAt + row.everyMs;
    try {
      const turn = await turns.take(name, takenMs);
      if (turn !== 'taken') dueAt = now() + turn;
      else {
        const untilMs = await round();
        if (untilMs !== takenMs) await turns.keep(name, untilMs - (now() - startedAt));
      }
    } catch (error) {
      dueAt = now() + row.backoffMs;
      observer.queueFailed(name, error);
    } finally {
      running = undefined;
    }
  }

  const lookIfDue = (): void => {
    // Looks are a second apart, and come a little early or late.
    if (now() >= dueAt - OVER_BEFORE_MS) running ??= look();
  };
  const end = everySecond(lookIfDue);
  lookIfDue();
  return {
    /** Begins no more rounds and waits for the one under way. */
    stop: async (): Promise<void> => {
      end();
      stopping.abort(new Error('the process is stopping'));
      await running;
    },
  };
}
