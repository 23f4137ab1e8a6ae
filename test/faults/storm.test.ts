import { afterAll, beforeAll, expect, it } from 'vitest';
import { Instance } from '#lab/storms/instance.ts';
import { runStorm, type StormReport } from '#lab/storms/run-storm.ts';
import { STORMS } from '#lab/storms/storms.ts';
import { isDeep, SEED } from '#test/support/depth.ts';

/** A storm and its verdict, on a machine that does much else. */
const STORM_MS = 400_000;
/** More than an instance takes until it says that it cannot start (two minutes) or stop (three). */
const INSTANCE_MS = 240_000;
/** Each storm goes around once at least; in a deep run as often as this lasts. */
const SECONDS = isDeep ? 60 : 1;
/** Enough that each process has requests in hand whenever it is struck; more would make it struggle for processors. */
const CLIENTS = isDeep ? 12 : 4;
const CALM_MS = isDeep ? 2_000 : 500;
const KEPT = { lost: 0, doubled: 0, mismatched: 0, bare: 0, sound: true };

let instance: Instance;
beforeAll(async () => {
  instance = await Instance.start(STORMS['restart']);
}, INSTANCE_MS);
afterAll(() => instance.remove(), INSTANCE_MS);

const rage = (name: string): Promise<StormReport> =>
  runStorm({
    name,
    instance,
    seed: SEED,
    seconds: SECONDS,
    clients: CLIENTS,
    calmMs: CALM_MS,
    say: () => {},
  });

const RAGED = [
  [
    'no answer loses its receipt, gets two or gets another one when a process of each role is killed',
    'kill',
    KEPT,
  ],
  [
    'no request fails and no stream is cut while every process is stopped and replaced in turn',
    'restart',
    { ...KEPT, refused: 0, excused: 0 },
  ],
] as const;

// A process of each role is killed in ended-process.test.ts as well.
it.each(RAGED.filter(([, name]) => isDeep || name === 'restart'))(
  '%s',
  { timeout: STORM_MS },
  async (_title, name, kept) => {
    const report = await rage(name);
    expect(report, report.examples.join('\n')).toMatchObject(kept);
    expect(report.answered).toBeGreaterThan(0);
  },
);
