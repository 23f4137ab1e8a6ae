/**
 * `node dev/durations.ts`: runs all tests and writes how many seconds each file with stores took into test/durations.json, by
 * which the longest begin first. Where a test fails nothing is written.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startVitest } from 'vitest/node';

const ROOT = join(import.meta.dirname, '..');
const UNIT = /^test\/(unit|architecture|docs)\//;

const vitest = await startVitest('test', [], { root: ROOT, watch: false });
const modules = vitest.state.getTestModules();
if (modules.length > 0 && modules.every((module) => module.ok())) {
  const seconds = modules
    .map((module): [string, number] => {
      const { collectDuration, setupDuration, duration } = module.diagnostic();
      return [
        module.relativeModuleId,
        Math.round((collectDuration + setupDuration + duration) / 1_000),
      ];
    })
    .filter(([path, took]) => took > 0 && !UNIT.test(path))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify(Object.fromEntries(seconds), null, 2);
  writeFileSync(join(ROOT, 'test/durations.json'), `${text}\n`);
}
await vitest.close();
