import { type AnchorProof, formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import type { Hash } from '#shared/ledger/hashing.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';

/**
 * The file of an anchored head: its proof, and the RFC 6962 consistency proof from it to the checkpoint of the pack. One
 * content has one text.
 */
export function anchoredHeadText(consistency: readonly Hash[], proof: AnchorProof): string {
  const fields = {
    consistency: consistency.map(encodeBase64),
    proof: JSON.parse(formatAnchorProof(proof)) as object,
  };
  return `${JSON.stringify(fields, null, 2)}\n`;
}
