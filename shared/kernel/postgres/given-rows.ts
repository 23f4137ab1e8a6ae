/** A column of rows that are given to a statement, with its type in SQL. */
export interface GivenColumn<R> {
  name: string;
  type: 'text' | 'int' | 'bigint' | 'float8' | 'bool';
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

/** What columns that are no text hold. */
type Plain = number | string | boolean | null | undefined;

/** The parameters of such rows. Arrays of numbers are written here: the driver looks into each value as into a text. */
export function arraysOf<R>(columns: readonly GivenColumn<R>[], rows: readonly R[]): unknown[] {
  return columns.map(({ type, of }) => {
    const values = rows.map((row, index) => of(row, index));
    if (type === 'text') return values;
    return `{${(values as readonly Plain[]).map((value) => String(value ?? 'NULL')).join(',')}}`;
  });
}
