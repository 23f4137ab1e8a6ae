import { csvFields } from '#shared/kernel/csv.ts';
import { RECEIPTS, REVISIONS, tablePath } from '#shared/packs/layout.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import type { PackFile } from '#cli/verify/pack-file.ts';
import { linesOf, textOf } from '#cli/verify/lines.ts';

/** A line of a pack's tables, which verifying the pack has compared with its receipt. */
export interface TableRow {
  /** The file of the pack that holds the receipt, and the line of it, from 0. */
  shard: string;
  line: number;
  /** 0 for one that a later receipt revises. */
  isCounted: boolean;
  /** Does it revise another? Then it says the same of the inference as that. */
  isRevision: boolean;
  index: number;
  receipt: string;
  startedAt: string;
  model: string;
  region: string;
  tier: string;
  dataQuality: string;
  inputTokens: number;
  outputTokens: number;
  /** Every column of the table by its name, as it stands there. */
  columns: Readonly<Record<string, string>>;
}

/** Every line of a pack's tables of receipts, in the order of the ledger; revisions from after the range come last. */
export function* tableRows(pack: PackFile): Generator<TableRow> {
  for (const shard of shardsOf(pack)) yield* rowsOf(pack, shard);
}

/** Digests of the metered intervals, and spans of several, that receipts of a pack name. */
export function meteredIn(pack: PackFile): Set<string> {
  const digests = new Set<string>();
  for (const shard of shardsOf(pack)) {
    for (const line of linesOf(pack.read(shard), shard)) {
      const { measurement } = parseReceipt(line).document;
      if (measurement?.metered !== undefined) digests.add(measurement.metered.digest);
    }
  }
  return digests;
}

function shardsOf(pack: PackFile): string[] {
  return [RECEIPTS, REVISIONS].flatMap((folder) =>
    [...pack.files.keys()].filter((path) => path.startsWith(`${folder}/`)).toSorted(),
  );
}

function* rowsOf(pack: PackFile, shard: string): Generator<TableRow> {
  const table = tablePath(shard);
  const [head, ...lines] = [...linesOf(pack.read(table), table)].map((line) =>
    csvFields(textOf(line, table).replace(/\r$/, '')),
  );
  for (const [line, fields] of lines.entries()) {
    const columns = Object.fromEntries(head!.map((name, at) => [name, fields[at] ?? '']));
    const text = (name: string): string => columns[name] ?? '';
    yield {
      shard,
      line,
      isCounted: text('counted') === '1',
      isRevision: text('revises') !== '',
      index: Number(text('index')),
      receipt: text('receipt'),
      startedAt: text('started_at'),
      model: text('model'),
      region: text('region'),
      tier: text('tier'),
      dataQuality: text('data_quality'),
      inputTokens: Number(text('input_tokens')),
      outputTokens: Number(text('output_tokens')),
      columns,
    };
  }
}
