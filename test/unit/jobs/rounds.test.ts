import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { JobObserver } from '#shared/jobs/redis/job-runner.ts';
import { type LastRound, runRounds, type Turns } from '#shared/jobs/redis/rounds.ts';
import type { ScheduledJobName } from '#shared/jobs/table.ts';

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ['performance', 'setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'],
    }),
);
const running: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((rounds) => rounds.stop()));
  vi.useRealTimers();
});

const SILENT: JobObserver = { done() {}, failed() {}, queueFailed() {} };

/** Turns as Redis gives them, by the clock of the test. */
function turnsDouble(): Turns & { lose: () => void; last: LastRound[] } {
  const until = new Map<ScheduledJobName, number>();
  const last: LastRound[] = [];
  return {
    async take(name, forMs) {
      const free = (until.get(name) ?? 0) - performance.now();
      if (free > 0) return free;
      until.set(name, performance.now() + forMs);
      return 'taken';
    },
    async keep(name, forMs) {
      until.set(name, performance.now() + forMs);
    },
    ended: async (_name, round) => void last.push(round),
    lose: () => until.clear(),
    last,
  };
}

function start(
  name: ScheduledJobName,
  turns: Turns,
  handler: (signal: AbortSignal) => Promise<void>,
  observer: Partial<JobObserver> = {},
): void {
  const rounds = runRounds({
    name,
    handler: (_payload, signal) => handler(signal),
    turns,
    observer: { ...SILENT, ...observer },
  });
  running.push(rounds);
}

async function pass(seconds: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(0);
  for (let i = 0; i < seconds; i += 1) await vi.advanceTimersByTimeAsync(1_000);
}

describe('jobs by the clock', () => {
  it('a job runs at once, and then in one of all processes, as far apart as the table says', async () => {
    const turns = turnsDouble();
    const ran: number[] = [];
    const seconds = async (): Promise<void> => void ran.push(Math.round(performance.now() / 1_000));
    for (let process = 0; process < 3; process += 1) start('mail', turns, seconds);
    const begun = Math.round(performance.now() / 1_000);
    await pass(22);
    expect(ran.map((at) => at - begun)).toEqual([0, 5, 10, 15, 20]);
  });

  it('the round of a process that died in it is made up for when its time is over', async () => {
    const turns = turnsDouble();
    // Takes the turn, and is never heard of again.
    await turns.take('ledger-partitions', 60_000);
    let ran = 0;
    start('ledger-partitions', turns, async () => void (ran += 1));
    await pass(59);
    expect(ran).toBe(0);
    await pass(2);
    expect(ran).toBe(1);
    await pass(6 * 3_600 - 10);
    expect(ran).toBe(1);
    await pass(12);
    expect(ran).toBe(2);
  });

  it('a round that fails is tried again as the table says, by any process, and told each time', async () => {
    const turns = turnsDouble();
    const failed: boolean[] = [];
    let ran = 0;
    const failing = async (): Promise<void> => {
      ran += 1;
      throw new Error('no');
    };
    start('key-purge', turns, failing, {
      failed: (_name, _error, final) => void failed.push(final),
    });
    await pass(0);
    expect(failed).toEqual([false]);
    await pass(10);
    expect(failed).toEqual([false, false]);
    await pass(25);
    expect(failed).toEqual([false, false, true]);
    expect(turns.last.map(({ failure, attempts }) => `${failure} ${attempts}`)).toEqual([
      'no 1',
      'no 2',
      'no 3',
    ]);
    await pass(3_500);
    expect(ran).toBe(3);
    await pass(100);
    expect(ran).toBeGreaterThan(3);
  });

  it('a round that takes longer than its time fails, and its signal says so', async () => {
    const turns = turnsDouble();
    const failures: unknown[] = [];
    let signal: AbortSignal | undefined;
    start(
      'meter-reading',
      turns,
      (given) => {
        if (signal !== undefined) return Promise.resolve();
        signal = given;
        // Looks at no signal.
        return new Promise(() => {});
      },
      { failed: (_name, error) => void failures.push(error) },
    );
    await pass(29);
    expect(failures).toEqual([]);
    expect(signal?.aborted).toBe(false);
    await pass(2);
    expect(failures.map(String)).toEqual(['Error: meter-reading took longer than 30000 ms']);
    expect(signal?.aborted).toBe(true);
  });

  it('a store of turns that is away is told and asked again; that it forgot them costs a round', async () => {
    const turns = turnsDouble();
    let away = true;
    let ran = 0;
    const lost: unknown[] = [];
    const failing: Turns = {
      ...turns,
      take: (name, forMs) => (away ? Promise.reject(new Error('away')) : turns.take(name, forMs)),
    };
    start('mail', failing, async () => void (ran += 1), {
      queueFailed: (_name, error) => void lost.push(error),
    });
    await pass(6);
    expect(lost.length).toBeGreaterThan(0);
    away = false;
    await pass(5);
    expect(ran).toBe(1);
    turns.lose();
    await pass(5);
    expect(ran).toBe(2);
  });
});
