import { expect, it } from 'vitest';
import { runStorm } from '#lab/storms/run-storm.ts';

/** A start, a storm and a verdict, on a machine that does much else. */
const STORM_MS = 400_000;
const KEPT = { lost: 0, doubled: 0, mismatched: 0, bare: 0, sound: true };

it(
  'no answer loses its receipt, gets two or gets another one when a process of each role is killed',
  { timeout: STORM_MS },
  async () => {
    const report = await runStorm({ name: 'kill', seed: 1, seconds: 1, say: () => {} });
    expect(report, report.examples.join('\n')).toMatchObject(KEPT);
    expect(report.answered).toBeGreaterThan(0);
  },
);

it(
  'no request fails and no stream is cut while every process is stopped and replaced in turn, twice around',
  { timeout: STORM_MS },
  async () => {
    const report = await runStorm({ name: 'restart', seed: 1, seconds: 1, say: () => {} });
    expect(report, report.examples.join('\n')).toMatchObject({ ...KEPT, refused: 0, excused: 0 });
    expect(report.answered).toBeGreaterThan(0);
  },
);
