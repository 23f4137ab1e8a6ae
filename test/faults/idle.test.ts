import { beforeAll, expect, it } from 'vitest';
import type { Counts } from '#test/support/costs.ts';
import { CountedSystem, over } from '#test/support/counted-system.ts';
import { MAIN_ROLES } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { ANCHOR_AWAKE_MS } from '#workers/ledger/intervals.ts';

/** A second without a request, once everything of before is done. */
const IDLE_SECOND: Counts = {
  'redis commands': 48,
  // Of 1,380 to 1,460 in most windows, by how many rounds fall into one.
  'redis bytes logged': 1_500,
  'postgres statements': 9,
  'api sleeps': 10,
  'inference sleeps': 10,
  'receipts sleeps': 9,
  'ledger sleeps': 9,
  'recalculation sleeps': 9,
  'exports sleeps': 8,
  'purge sleeps': 7,
  'housekeeping sleeps': 9,
};
/** Some rounds by the clock are in each window, and the rare ones in few. */
const IDLE_WINDOW_MS = 5_000;
/** What is rare falls into one of two windows. */
const IDLE_WINDOWS_MAX = 4;

let counted: CountedSystem;
beforeAll(async () => {
  counted = await CountedSystem.start();
});

it('a system without a request does little by the clock', async (context) => {
  const others = ['recalculation', 'exports', 'purge', 'housekeeping'] as const;
  await Promise.all(others.map((role) => counted.system.start(role)));
  // A ledger worker looks often until the epoch is over in which its last head is anchored.
  const quietAt = counted.doneAt + ANCHOR_AWAKE_MS;
  await until(() => performance.now() >= quietAt, 'everything of before is done');
  const all = counted.costsOf([...MAIN_ROLES, ...others]);
  let found = await over(context, await all.watchIdle(IDLE_WINDOW_MS), IDLE_SECOND);
  for (let window = 1; found.length > 0 && window < IDLE_WINDOWS_MAX; window += 1) {
    found = await over(context, await all.watchIdle(IDLE_WINDOW_MS), IDLE_SECOND);
  }
  expect(found).toEqual([]);
});
