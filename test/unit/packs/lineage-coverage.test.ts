import { describe, expect, it } from 'vitest';
import { LINEAGE_DOCUMENTS_MAX } from '#shared/packs/layout.ts';
import { LineageCoverage } from '#shared/packs/lineage-coverage.ts';

describe('the lineage of a pack', () => {
  it('a pack has a lineage document for the first receipt of each derivation', () => {
    const coverage = new LineageCoverage();
    expect(['a', 'b', 'a', 'c', 'b'].map((key) => coverage.take(key))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect(coverage.counts()).toMatchObject({ documents: 3, described: 5, undescribed: 0 });
  });

  it('lineage documents end at their bound: what comes after is counted, what has its document still is described', () => {
    const coverage = new LineageCoverage();
    for (let i = 0; i < LINEAGE_DOCUMENTS_MAX; i += 1) coverage.take(`derivation ${i}`);
    expect(coverage.take('one too many')).toBe(false);
    expect(coverage.take('one too many', 6)).toBe(false);
    expect(coverage.take('derivation 7', 10)).toBe(false);
    expect(coverage.counts()).toEqual({
      described: LINEAGE_DOCUMENTS_MAX + 10,
      documents: LINEAGE_DOCUMENTS_MAX,
      type: 'PackLineage',
      undescribed: 7,
    });
  });

  it('the lineage of a pack is the same when receipts are counted shard by shard', () => {
    const keys = Array.from({ length: 5_000 }, (_, i) => `derivation ${(i * 7_919) % 1_201}`);
    const one = new LineageCoverage();
    for (const key of keys) one.take(key);
    const other = new LineageCoverage();
    for (let at = 0; at < keys.length; at += 300) {
      const shard = new Map<string, number>();
      for (const key of keys.slice(at, at + 300)) shard.set(key, (shard.get(key) ?? 0) + 1);
      for (const [key, receipts] of shard) other.take(key, receipts);
    }
    expect(other.counts()).toEqual(one.counts());
  });
});
