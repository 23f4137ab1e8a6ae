import { sha256 } from '#primitives';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import type { ReceiptDocument } from './document.ts';

/** Bytes of a digest of what a revision repeats: no search finds two receipts with one. */
export const REPEATED_BYTES = 16;

/** How much of an inference a receipt states. The revision of it says the same, and perhaps more. */
const LEVELS = ['degraded', 'estimated'] as const;
type Level = (typeof LEVELS)[number];

/** A digest of what the revision of this receipt has to repeat of it. */
export function repeatedOf(document: ReceiptDocument): Uint8Array {
  const { id, revisionNumber = 0, measurement } = document;
  return digestOf(
    document,
    measurement === undefined ? 'degraded' : 'estimated',
    id,
    revisionNumber,
  );
}

/** What that digest of the receipt before this one may be: by the receipt that it names, and its own words. */
export function repeatedBefore(document: ReceiptDocument): Uint8Array[] {
  const { wasRevisionOf, revisionNumber = 0, revisionReason: reason } = document;
  if (wasRevisionOf === undefined) return [];
  const levels: readonly Level[] = reason === 'methodology_failed' ? ['degraded'] : LEVELS;
  return levels.map((level) => digestOf(document, level, wasRevisionOf.id, revisionNumber - 1));
}

function digestOf(
  { credentialSubject }: ReceiptDocument,
  level: Level,
  receipt: string,
  number: number,
): Uint8Array {
  // Where the region of a degraded receipt lies may have become known since.
  const { gridZone: _, ...degraded } = credentialSubject;
  const stated = level === 'estimated' ? credentialSubject : degraded;
  const words = canonicalJson([receipt, number, level, stated]);
  return new Uint8Array(sha256(words).subarray(0, REPEATED_BYTES));
}
