import { afterAll, beforeAll, expect, it } from 'vitest';
import { Instance } from '#lab/storms/instance.ts';
import { runStorm, type StormReport } from '#lab/storms/run-storm.ts';
import { STORMS } from '#lab/storms/storms.ts';
import { isDeep, SEED } from '#test/support/depth.ts';

/** A start, a storm and a verdict, on a machine that does much else. */
const STORM_MS = 400_000;
/** Each storm goes around once at least; in a deep run as often as this lasts. */
const SECONDS = isDeep ? 60 : 1;
/** Enough that each process has requests in hand whenever it is struck; more would make it struggle for processors. */
const CLIENTS = isDeep ? 12 : 4;
const KEPT = { lost: 0, doubled: 0, mismatched: 0, bare: 0, sound: true };

let instance: Instance;
beforeAll(async () => {
  instance = await Instance.start(STORMS['restart']);
});
afterAll(() => instance.remove());

const rage = (name: string): Promise<StormReport> =>
  runStorm({ name, instance, seed: SEED, seconds: SECONDS, clients: CLIENTS, say: () => {} });

it(
  'no answer loses its receipt, gets two or gets another one when a process of each role is killed',
  { timeout: STORM_MS },
  async () => {
    const report = await rage('kill');
    expect(report, report.examples.join('\n')).toMatchObject(KEPT);
    expect(report.answered).toBeGreaterThan(0);
  },
);

it(
  'no request fails and no stream is cut while every process is stopped and replaced in turn',
  { timeout: STORM_MS },
  async () => {
    const report = await rage('restart');
    expect(report, report.examples.join('\n')).toMatchObject({ ...KEPT, refused: 0, excused: 0 });
    expect(report.answered).toBeGreaterThan(0);
  },
);
