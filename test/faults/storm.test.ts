/** Deep runs alone have these: each process on the path of an answer is killed, and stopped, in ended-process.test.ts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Instance } from '#lab/storms/instance.ts';
import { runStorm, type StormReport } from '#lab/storms/run-storm.ts';
import { STORMS } from '#lab/storms/storms.ts';
import { SEED } from '#test/support/depth.ts';

/** A storm and its verdict, on a machine that does much else. */
const STORM_MS = 400_000;
/** More than an instance takes until it says that it cannot start (two minutes) or stop (three). */
const INSTANCE_MS = 240_000;
/** Each storm goes around as often as this lasts. */
const SECONDS = 60;
const KEPT = { lost: 0, doubled: 0, mismatched: 0, bare: 0, sound: true };

let instance: Instance;
beforeAll(async () => {
  instance = await Instance.start(STORMS['restart']);
}, INSTANCE_MS);
afterAll(() => instance.remove(), INSTANCE_MS);

const rage = (name: string): Promise<StormReport> =>
  runStorm({ name, instance, seed: SEED, seconds: SECONDS, say: () => {} });

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

it.each(RAGED)('%s', { timeout: STORM_MS }, async (_title, name, kept) => {
  const report = await rage(name);
  expect(report, report.examples.join('\n')).toMatchObject(kept);
  expect(report.answered).toBeGreaterThan(0);
});
