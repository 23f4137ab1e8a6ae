import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';

const database = await createTestDatabase();
await database.pool.query(
  'create table numbered as select 3 * n as place from generate_series(1, 20) n',
);
const queries = queriesOn(database.pool).withTables<{ numbered: { place: number } }>();

describe('pages of a list', () => {
  it('pages of any length together hold every row once, in order', async () => {
    const all = Array.from({ length: 20 }, (_, index) => 3 * (index + 1));
    await forAllAsync(
      [fc.integer({ min: 1, max: 22 }), fc.boolean()],
      { numRuns: runs(50) },
      async (limit, ascending) => {
        const order = ascending ? 'asc' : 'desc';
        const read: number[] = [];
        for (let hasMore = true; hasMore;) {
          const place = { limit, order, after: read.at(-1) } as const;
          const rows = await keyset(
            queries.selectFrom('numbered').select('place'),
            'place',
            place,
          ).execute();
          const page = pageOf(rows, place, (row) => row.place);
          expect(page.items.length).toBeLessThanOrEqual(limit);
          read.push(...page.items);
          ({ hasMore } = page);
        }
        expect(read).toEqual(ascending ? all : all.toReversed());
      },
    );
  });

  it('continue after a place that no row has', async () => {
    const rows = await keyset(queries.selectFrom('numbered').select('place'), 'place', {
      limit: 2,
      order: 'asc',
      after: 31,
    }).execute();
    expect(rows.map(({ place }) => place)).toEqual([33, 36, 39]);
  });
});
