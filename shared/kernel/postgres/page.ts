import type { SelectQueryBuilder, StringReference } from 'kysely';
import type { Page } from '../page.ts';

/** The place in a list, by the values of its key column. */
export interface Keyset {
  /** Rows beyond this value of the key; from the list's end when absent. */
  after?: string | number | undefined;
  /** Rows of the page. */
  limit: number;
  order: 'asc' | 'desc';
}

/**
 * Restricts a query to one page by a unique column, in its order. Where an index leads to the column, every
 * page costs the same, however far into the list it lies. One row more than the page is read, which tells
 * `pageOf` whether there is a next one.
 */
export function keyset<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  key: StringReference<DB, TB>,
  { after, limit, order }: Keyset,
): SelectQueryBuilder<DB, TB, O> {
  const beyond =
    after === undefined
      ? query
      : // The column's type is the caller's to match.
        query.where(key, order === 'desc' ? '<' : '>', after as never);
  return beyond.orderBy(key, order).limit(limit + 1);
}

/** The page that rows of `keyset` make. */
export function pageOf<Row, T>(
  rows: readonly Row[],
  { limit }: Pick<Keyset, 'limit'>,
  itemOf: (row: Row) => T,
): Page<T> {
  return { items: rows.slice(0, limit).map(itemOf), hasMore: rows.length > limit };
}
