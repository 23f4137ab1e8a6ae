/** A column of rows that are given to a statement, with its type in SQL. */
export interface GivenColumn<R> {
  name: string;
  type: 'text' | 'int' | 'bigint' | 'float8';
  of: (row: R, index: number) => unknown;
}

/**
 * SQL that reads rows given as parameters from `first` on, one array for each column, as a table: to stand after FROM or
 * JOIN. With the names and the values in one table, no parameter is counted by hand.
 */
export function givenRows(
  columns: readonly Pick<GivenColumn<never>, 'name' | 'type'>[],
  alias: string,
  first: number,
): string {
  const arrays = columns.map(({ type }, i) => `$${first + i}::${type}[]`);
  return `unnest(${arrays.join(', ')}) AS ${alias} (${columns.map(({ name }) => name).join(', ')})`;
}

/** The parameters of such rows. */
export function arraysOf<R>(columns: readonly GivenColumn<R>[], rows: readonly R[]): unknown[][] {
  return columns.map(({ of }) => rows.map((row, index) => of(row, index)));
}
