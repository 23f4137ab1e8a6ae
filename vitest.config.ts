import { defineConfig } from 'vitest/config';
import { isDeep } from './test/support/depth.ts';
import { LongestFirst } from './test/support/longest-first.ts';

/** What needs real PostgreSQL and Redis; they are started only when such a file is to run. */
const stores = {
  globalSetup: ['test/support/global-setup.ts'],
  pool: 'forks' as const,
  // Files share processes, and so what they import; a check at the end of each finds what it left open.
  isolate: false,
  setupFiles: ['test/support/set-up.ts', 'test/support/each-file.ts'],
  // Only a hang takes this long, on any machine: where others use it too, files took twice what they take alone.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  // Here, and in the processes that tests start, the product waits longer for its stores: see test/support/patience.ts.
  alias: { '#patience': `${import.meta.dirname}/test/support/patience.ts` },
  // More than the cores of the smallest machine this runs on: much of each test is waiting for a store or a process.
  maxWorkers: 5,
  // A young generation with room for what tests make and drop costs less to collect.
  execArgv: ['--max-semi-space-size=32'],
};

/** They hold what the product promises in seconds, or count what it does by the clock: they run beside nothing but each other. */
const ALONE = [
  'test/faults/{budgets,cluster-failover,frozen,idle,redis-away,revocation,seconds,sentinel,stopped-workers}.test.ts',
];

/** They are minutes of what another file holds once, or is of a pack of a thousand derivations. */
const DEEP = isDeep ? [] : ['test/faults/storm.test.ts', 'test/packs/many-derivations.test.ts'];

/** What needs no stores: files are about values, so nothing of one can reach another, and half the time is saved. */
const storeless = {
  setupFiles: ['test/support/set-up.ts'],
  isolate: false,
  // Properties make much that is dropped at once: a young generation with room for it costs less to collect.
  execArgv: ['--max-semi-space-size=64'],
  // More than the cores of the smallest machine this runs on: some of the time is spent on waiting for deadlines.
  maxWorkers: 3,
  testTimeout: stores.testTimeout,
  hookTimeout: stores.hookTimeout,
};

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    // A test that fails now and then tells of a race; repeating it would hide that.
    retry: 0,
    allowOnly: false,
    projects: [
      {
        test: {
          ...storeless,
          name: 'unit',
          include: ['test/{unit,architecture,docs,scale,programs}/**/*.test.ts'],
        },
      },
      {
        test: {
          ...stores,
          name: 'stores',
          include: ['test/{stores,workers,api,cli,embedded,packs,pipeline,faults}/**/*.test.ts'],
          exclude: [...ALONE, ...DEEP],
          globalSetup: [...stores.globalSetup, 'test/support/pack-tools.ts'],
          // Those that start the product wait for its processes: lighter ones fill what they leave (LongestFirst says which begin).
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...stores,
          name: 'product',
          include: ['test/{product,browser}/**/*.test.ts'],
          globalSetup: ['test/support/shared-product.ts', 'test/support/chromium.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...stores,
          name: 'alone',
          include: ALONE,
          // What they hold and count is that of the product with the deadlines that are shipped.
          env: { NODE_OPTIONS: '' },
          alias: {},
          // They wait for most of their time. Each measures the machine beside what it holds in seconds.
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
