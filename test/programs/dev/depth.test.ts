import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { isDeep, runs, sample } from '#test/support/depth.ts';

it('a quick run takes a tenth of the runs, a few at least, and never more than a deep one', () => {
  const taken = [runs(3_000), runs(100), runs(12), runs(60, 6)];
  expect(taken).toEqual(isDeep ? [3_000, 100, 12, 60] : [300, 25, 12, 6]);
});

it('a quick run takes one row of each kind, and a tenth of all', () => {
  const rows = Array.from({ length: 200 }, (_, i) => i);
  const taken = sample(rows, (row) => (row === 77 ? 'one' : 'others'));
  expect(taken).toContain(77);
  expect(taken).toHaveLength(isDeep ? 200 : 21);
});

it.each(['', 'x', '1.5', '4294967296'])('a deep run by the seed "%s" is refused', (seed) => {
  const program = join(import.meta.dirname, '../../../dev/deep.ts');
  const args = seed === '' ? ['--seed'] : ['--seed', seed];
  const { status, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([2, expect.stringContaining(`"${seed}"`)]);
});
