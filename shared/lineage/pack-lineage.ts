import { digestIn } from '#shared/kernel/multihash.ts';
import { sha256Text } from '#primitives';
import { leafHash } from '#shared/ledger/hashing.ts';
import type { ChainMember, RecordedFacts } from './facts.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { idInAddress } from '#shared/receipts/reread.ts';
import { lineageOf, type LineageSources } from './of-receipt.ts';

/** A receipt in its log. */
export interface PackedReceipt {
  /** The exact bytes of the ledger's entry, and the same parsed. */
  readonly bytes: Uint8Array;
  readonly document: ReceiptDocument;
  /** Origin of the log: `gateway.example/log/org_…`. */
  readonly log: string;
  readonly index: number;
}

/**
 * The lineage document of a receipt as packs have it: made of the receipt, its place and the methodology alone, so that
 * a holder of the pack can make it again. Nothing in it depends on what happened since, nor on anything that no
 * signature in the pack says: revisions are told as far as the receipt pins them.
 * @throws LineageContradiction, MalformedData as `lineageOf`
 */
export function packLineage(sources: LineageSources, receipt: PackedReceipt): string {
  return lineageOf(sources, receipt.bytes, factsInPack(receipt));
}

function factsInPack({ bytes, document, log, index }: PackedReceipt): RecordedFacts {
  const { wasRevisionOf: revised } = document;
  const before: ChainMember[] =
    revised === undefined
      ? []
      : [
          {
            receiptId: idInAddress(revised.id),
            digest: digestIn(revised.digest),
            leafIndex: revised.leafIndex,
          },
        ];
  const own = {
    receiptId: idInAddress(document.id),
    digest: sha256Text(bytes, 'base64url'),
    leafIndex: index,
  };
  const ledger = { log, leafIndex: index, leafHash: leafHash(bytes) };
  return { chain: [...before, own], ledger };
}
