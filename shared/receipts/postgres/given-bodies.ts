import { hash } from 'node:crypto';
import { arraysOf, type GivenColumn, givenRows } from '#shared/kernel/postgres/given-rows.ts';
import { HASH_BYTES } from '#shared/ledger/hashing.ts';
import {
  RECEIPT_COLUMNS,
  RECEIPT_FIELDS,
  type ReceiptField,
  type ReceiptRow,
  type RevisionRow,
} from '../columns.ts';

interface BodyColumn<R> extends GivenColumn<R> {
  /** SQL of what is stored, where that is not what travels. */
  stored?: string;
}

/**
 * SQL and parameters, from the first on, with which a statement fills `ledger_body`: the columns of every receipt (`storedAs`
 * has the SQL of those that are not made of what is given), `more`, and the bytes. All bodies travel as one binary parameter and are cut apart in the database: as an array each would be written as
 * hexadecimal text, at twice the size.
 */
export function givenBodies<R extends ReceiptRow | RevisionRow>(
  more: readonly BodyColumn<R>[] = [],
  storedAs: Partial<Record<ReceiptField, string>> = {},
) {
  const columns: readonly BodyColumn<R>[] = [
    ...RECEIPT_FIELDS.map((field) => columnOf(field, storedAs[field])),
    ...more,
  ];
  const arrays = [
    ...columns,
    { name: 'position', type: 'int' },
    { name: 'body_from', type: 'int' },
    { name: 'body_size', type: 'int' },
  ] as const;
  const hashes = arrays.length + 1;
  const bodies = hashes + 1;
  return {
    /** The rows that are given. */
    rows: `SELECT * FROM ${givenRows(arrays, 't', 1)}`,
    columns: [...columns.map(({ name }) => name), 'leaf_hash', 'body'].join(', '),
    /** What is stored of a given row, in the order of `columns`. */
    values: [
      ...columns.map(({ name, stored }) => stored ?? name),
      `substring($${hashes}::bytea FROM position * ${HASH_BYTES} + 1 FOR ${HASH_BYTES})`,
      `substring($${bodies}::bytea FROM body_from FOR body_size)`,
    ].join(', '),
    /** Number of the parameter after them. */
    next: bodies + 1,
    parameters: (batch: readonly R[]): unknown[] => [...arraysOf(columns, batch), ...layOut(batch)],
  };
}

function columnOf(field: ReceiptField, stored?: string): BodyColumn<ReceiptRow | RevisionRow> {
  const column = { ...RECEIPT_COLUMNS[field], of: (row: ReceiptRow | RevisionRow) => row[field] };
  return stored === undefined ? column : { ...column, stored };
}

/**
 * The parameters behind the columns. All bodies lie in one buffer and their leaf hashes (RFC 6962) in another: a buffer for each
 * receipt would be most of what the worker leaves to the garbage collector. Before each body lies the zero byte with which its
 * leaf is hashed.
 */
function layOut(rows: readonly { text: string }[]): [
  positions: number[],
  /** Where each body begins, counted from 1 as SQL does. */
  starts: number[],
  sizes: number[],
  leafHashes: Buffer,
  bodies: Buffer,
] {
  const sizes = rows.map(({ text }) => Buffer.byteLength(text));
  const bodies = Buffer.alloc(sizes.reduce((sum, size) => sum + 1 + size, 0));
  const leafHashes = Buffer.alloc(rows.length * HASH_BYTES);
  let at = 0;
  const starts = rows.map(({ text }, row) => {
    const end = at + 1 + bodies.write(text, at + 1);
    const leafHash = hash('sha256', bodies.subarray(at, end), 'latin1');
    leafHashes.write(leafHash, row * HASH_BYTES, 'latin1');
    const start = at + 2;
    at = end;
    return start;
  });
  return [rows.map((_, row) => row), starts, sizes, leafHashes, bodies];
}
