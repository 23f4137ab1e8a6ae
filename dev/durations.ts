/**
 * `node dev/durations.ts`: runs all tests and writes how many seconds each file with stores took into test/durations.json, by
 * which the longest begin first. Where a test fails nothing is written.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const UNIT = /^test\/(unit|architecture|docs)\//;

interface Report {
  testResults: { name: string; startTime: number; endTime: number }[];
}

const directory = mkdtempSync(join(tmpdir(), 'docket-durations-'));
const file = join(directory, 'report.json');
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
const args = [vitest, 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
const { status } = spawnSync(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
if (status === 0) {
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const seconds = testResults
    .map(({ name, startTime, endTime }): [string, number] => [
      relative(ROOT, name),
      Math.round((endTime - startTime) / 1_000),
    ])
    .filter(([path, took]) => took > 0 && !UNIT.test(path))
    .toSorted(([a], [b]) => (a < b ? -1 : 1));
  const text = JSON.stringify(Object.fromEntries(seconds), null, 2);
  writeFileSync(join(ROOT, 'test/durations.json'), `${text}\n`);
} else {
  process.exitCode = 1;
}
rmSync(directory, { recursive: true });
