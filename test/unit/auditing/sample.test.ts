import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawSample, shareOut, TooFewRows } from '#cli/auditing/draw.ts';
import type { TableRow } from '#cli/auditing/pack-tables.ts';
import { forAll } from '#test/support/for-all.ts';

const kinds = fc.uniqueArray(
  fc.record({ key: fc.string({ minLength: 1 }), count: fc.integer({ min: 1, max: 1e8 }) }),
  { selector: ({ key }) => key, minLength: 1, maxLength: 40 },
);

describe('sharing a sample out over kinds of receipts', () => {
  it('gives as many as were asked for, to each kind at least one and never more than it has', () => {
    forAll([kinds, fc.integer({ min: 0, max: 10_000 })], (all, beyond) => {
      const size = all.length + beyond;
      const counts = all.map(({ key, count }) => [key, count] as const);
      const shares = shareOut(counts, size);
      const total = counts.reduce((sum, [, count]) => sum + count, 0);
      expect([...shares.values()].reduce((a, b) => a + b, 0)).toBe(Math.min(size, total));
      for (const [key, count] of counts) {
        expect(shares.get(key)).toBeGreaterThanOrEqual(1);
        expect(shares.get(key)).toBeLessThanOrEqual(count);
      }
    });
  });

  it('gives the larger kind the larger part', () => {
    const shares = shareOut(
      [
        ['a', 1_000],
        ['b', 9_000],
        ['c', 1],
      ],
      102,
    );
    expect([...shares]).toEqual([
      ['a', 11],
      ['b', 90],
      ['c', 1],
    ]);
  });

  it('refuses a size by which a kind would have none', () => {
    expect(() =>
      shareOut(
        [
          ['a', 9],
          ['b', 9],
          ['c', 9],
        ],
        2,
      ),
    ).toThrow(TooFewRows);
  });
});

function rowOf(index: number, changes: Partial<TableRow> = {}): TableRow {
  return {
    shard: 'data/receipts/000000000000.ndjson',
    line: index,
    isCounted: true,
    isRevision: false,
    index,
    receipt: `https://gateway.example/receipts/rcpt_${index}`,
    startedAt: '2026-11-23T15:10:00.000Z',
    model: 'llama-3.1-8b',
    region: index % 3 === 0 ? 'eu-west' : 'us-east',
    tier: 'audit',
    dataQuality: 'T3',
    inputTokens: 1,
    outputTokens: 1,
    columns: {},
    ...changes,
  };
}

describe('drawing receipts', () => {
  const rows = Array.from({ length: 3_000 }, (_, i) => rowOf(i, { isCounted: i % 7 !== 0 }));

  it('takes of each kind those with the lowest hash of seed and address, as anyone can compute', () => {
    const { strata, rows: drawn } = drawSample(() => rows, { seed: '4-2-6-6-1', size: 50 });
    for (const stratum of strata) {
      const ranked = rows
        .filter(({ isCounted, region }) => isCounted && region === stratum.region)
        .map((row) => ({ row, rank: hash('sha256', `4-2-6-6-1 ${row.receipt}`) }))
        .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
        .slice(0, stratum.drawn);
      const ours = drawn.filter(({ row }) => row.region === stratum.region);
      expect(ours.map(({ row, rank }) => ({ row, rank }))).toEqual(ranked);
    }
    expect(drawn).toHaveLength(50);
  });

  it('takes the same in any order of the lines, and others by another seed', () => {
    const of = (all: TableRow[], seed: string) =>
      drawSample(() => all, { seed, size: 20 }).rows.map(({ row }) => row.index);
    expect(of(rows.toReversed(), 'a')).toEqual(of(rows, 'a'));
    expect(of(rows, 'b')).not.toEqual(of(rows, 'a'));
  });

  it('takes no receipt that a later one revises, and all that count where that is fewer', () => {
    const few = rows.slice(0, 15);
    const drawn = drawSample(() => few, { seed: 'a', size: 60 }).rows;
    expect(drawn.map(({ row }) => row.index).toSorted((a, b) => a - b)).toEqual(
      few.filter(({ isCounted }) => isCounted).map(({ index }) => index),
    );
  });
});
