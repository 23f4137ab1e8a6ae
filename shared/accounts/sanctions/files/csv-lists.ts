import { Readable } from 'node:stream';
import { parse } from 'csv-parse';
import type { ListedEntity, PartyKind } from '../listed.ts';

/** A line of these files is a few kilobytes; the longest known aliases make a hundred. */
const RECORD_BYTES_MAX = 1_000_000;

const OPENSANCTIONS_KINDS: Readonly<Record<string, PartyKind>> = {
  Person: 'person',
  Company: 'organisation',
  LegalEntity: 'organisation',
  Organization: 'organisation',
  PublicBody: 'organisation',
};

/** OpenSanctions' `targets.simple.csv`: a header line, aliases and programmes separated by semicolons. */
export async function* readOpenSanctions(
  chunks: AsyncIterable<string>,
): AsyncGenerator<ListedEntity> {
  const parser = parse({ columns: true, bom: true, max_record_size: RECORD_BYTES_MAX });
  for await (const record of records<Record<string, string>>(chunks, parser)) {
    const aliases = split(record['aliases']);
    yield {
      id: record['id'] ?? '',
      kind: OPENSANCTIONS_KINDS[record['schema'] ?? ''] ?? 'other',
      names: [record['name'] ?? '', ...aliases].map((name) => ({ name, weak: false })),
      programme: record['program_ids'] || (record['dataset'] ?? ''),
      countries: split(record['countries']),
    };
  }
}

/** OFAC's `sdn.csv`: no header; number, name, type, programme … with `-0-` where there is nothing. */
export async function* readOfacCsv(
  chunks: AsyncIterable<string>,
  aliases: ReadonlyMap<string, readonly string[]>,
): AsyncGenerator<ListedEntity> {
  for await (const record of ofacRecords(chunks)) {
    const [id, name, type, programme] = record;
    // The file ends with a line that holds a control character only.
    if (id === undefined || name === undefined || !/^\d+$/.test(id)) continue;
    yield {
      id,
      kind: type === 'individual' ? 'person' : type === '' ? 'organisation' : 'other',
      names: [name, ...(aliases.get(id) ?? [])].map((text) => ({ name: text, weak: false })),
      programme: programme ?? '',
      countries: [],
    };
  }
}

/** OFAC's `alt.csv`: the further names of the parties in `sdn.csv`, by their number. */
export async function readOfacAliases(
  chunks: AsyncIterable<string>,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const aliases = new Map<string, string[]>();
  for await (const [id, , , name] of ofacRecords(chunks)) {
    if (id === undefined || name === undefined || !/^\d+$/.test(id)) continue;
    const known = aliases.get(id);
    if (known === undefined) aliases.set(id, [name]);
    else known.push(name);
  }
  return aliases;
}

async function* ofacRecords(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  const parser = parse({
    relax_column_count: true,
    relax_quotes: true,
    bom: true,
    max_record_size: RECORD_BYTES_MAX,
  });
  for await (const record of records<string[]>(chunks, parser)) {
    yield record.map((field) => (field.trim() === '-0-' ? '' : field.trim()));
  }
}

/** `compose` carries an error of either stream to the reader, and ends both when the reader stops. */
function records<T>(
  chunks: AsyncIterable<string>,
  parser: ReturnType<typeof parse>,
): AsyncIterable<T> {
  return Readable.from(chunks).compose(parser) as AsyncIterable<T>;
}

function split(text: string | undefined): string[] {
  return (text ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
