import { sha256Text } from '#primitives';
import { DERIVATIONS } from '#shared/packs/layout.ts';
import { derivationDigest } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { linesOf } from '#cli/verify/lines.ts';
import type { PackFile } from '#cli/verify/pack-file.ts';
import type { Sample } from './draw.ts';
import type { SampledReceipt } from './workpaper.ts';

/** Gets the receipts that were drawn, each shard read once, and hands each on with the derivation record that it names. */
export function receiptsOf(
  pack: PackFile,
  { rows }: Sample,
  put: (name: string, bytes: Uint8Array) => void,
): SampledReceipt[] {
  const digests = new Map<string, string>();
  const records = new Set<string>();
  for (const shard of new Set(rows.map(({ row }) => row.shard))) {
    const lines = [...linesOf(pack.read(shard), shard)];
    for (const { row } of rows.filter((each) => each.row.shard === shard)) {
      const bytes = lines[row.line]!;
      put(nameOf(row), bytes);
      digests.set(row.receipt, sha256Text(bytes, 'hex'));
      const { measurement } = parseReceipt(bytes).document;
      if (measurement !== undefined) records.add(derivationDigest(measurement));
    }
  }
  for (const digest of records) put(`${digest}.json`, pack.read(`${DERIVATIONS}/${digest}.json`));
  return rows.map((drawn) => ({
    ...drawn,
    file: `receipts/${nameOf(drawn.row)}`,
    sha256: digests.get(drawn.row.receipt)!,
  }));
}

function nameOf({ index }: { index: number }): string {
  return `${index}.json`;
}
