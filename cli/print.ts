import { plain, plainJson } from '#shared/kernel/plain-text.ts';
import { dateTime } from '#shared/kernel/time.ts';

/** One line of output: column title → value. */
export type Row = Readonly<Record<string, string | number | boolean | null>>;

/** Prints rows as a table for people. Columns are those of the first row; numbers stand to the right. */
export function printTable(rows: readonly Row[], empty: string): void {
  const first = rows[0];
  if (first === undefined) {
    process.stdout.write(`${empty}\n`);
    return;
  }
  const columns = Object.keys(first);
  const widths = columns.map((column) =>
    Math.max(column.length, ...rows.map((row) => text(row[column]).length)),
  );
  const line = (cells: readonly string[]): string => `${cells.join('  ').trimEnd()}\n`;
  process.stdout.write(line(columns.map((column, i) => column.padEnd(widths[i]!))));
  for (const row of rows) {
    process.stdout.write(line(columns.map((column, i) => cell(row[column], widths[i]!))));
  }
}

/** Prints one thing as `name  value` lines. */
export function printFields(fields: Row): void {
  process.stdout.write(fieldLines(fields));
}

/** One thing as `name  value` lines. */
export function fieldLines(fields: Row): string {
  const entries = Object.entries(fields).map(([name, value]) => [plain(name), value] as const);
  const width = Math.max(...entries.map(([name]) => name.length));
  return entries.map(([name, value]) => `${name.padEnd(width)}  ${text(value)}\n`).join('');
}

/** Prints a value for programs: one JSON document, in which what a terminal obeys is escaped as JSON escapes it. */
export function printJson(value: unknown): void {
  process.stdout.write(`${plainJson(JSON.stringify(value, null, 2))}\n`);
}

/** A time as people read it, in UTC. */
export function time(epochMs: number | null): string | null {
  return epochMs === null ? null : dateTime(epochMs);
}

function cell(value: Row[string] | undefined, width: number): string {
  return typeof value === 'number' ? text(value).padStart(width) : text(value).padEnd(width);
}

function text(value: Row[string] | undefined): string {
  return value === null || value === undefined ? '-' : plain(String(value));
}
