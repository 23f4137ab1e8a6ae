import { expect, it } from 'vitest';
import { runStorm } from '#lab/storms/run-storm.ts';
import { isDeep, SEED } from '#test/support/depth.ts';

/** A start, a storm and a verdict, on a machine that does much else. */
const STORM_MS = 400_000;
/** Each storm goes around once at least; in a deep run as often as this lasts. */
const SECONDS = isDeep ? 60 : 1;
const KEPT = { lost: 0, doubled: 0, mismatched: 0, bare: 0, sound: true };

it(
  'no answer loses its receipt, gets two or gets another one when a process of each role is killed',
  { timeout: STORM_MS },
  async () => {
    const report = await runStorm({ name: 'kill', seed: SEED, seconds: SECONDS, say: () => {} });
    expect(report, report.examples.join('\n')).toMatchObject(KEPT);
    expect(report.answered).toBeGreaterThan(0);
  },
);

it(
  'no request fails and no stream is cut while every process is stopped and replaced in turn',
  { timeout: STORM_MS },
  async () => {
    const report = await runStorm({ name: 'restart', seed: SEED, seconds: SECONDS, say: () => {} });
    expect(report, report.examples.join('\n')).toMatchObject({ ...KEPT, refused: 0, excused: 0 });
    expect(report.answered).toBeGreaterThan(0);
  },
);
