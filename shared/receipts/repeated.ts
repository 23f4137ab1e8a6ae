import { sha256 } from '#primitives';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import type { ReceiptDocument } from './document.ts';

/** Bytes of a digest of what a revision repeats: no search finds two receipts with one. */
export const REPEATED_BYTES = 16;

/** How much of an inference a receipt states: the revision of it says the same, and perhaps more. A meter’s interval by its digest. */
const DEGRADED = 'degraded';
const ESTIMATED = 'estimated';
/** Behind it where the estimate has the factor of its hour. */
const BY_HOUR = '@';

/** A digest of what the revision of this receipt has to repeat of it. */
export function repeatedOf(document: ReceiptDocument): Uint8Array {
  const { id, revisionNumber = 0, measurement } = document;
  const byHour = hasHour(document) ? BY_HOUR : '';
  const level = measurement === undefined ? DEGRADED : ESTIMATED + meteredOn(document) + byHour;
  return digestOf(document, level, id, revisionNumber);
}

/** What that digest of the receipt before this one may be: by the receipt that it names, and its own words. */
export function repeatedBefore(document: ReceiptDocument): Uint8Array[] {
  const { wasRevisionOf, revisionNumber = 0, revisionReason: reason } = document;
  if (wasRevisionOf === undefined) return [];
  return levelsBefore(reason, meteredOn(document)).map((level) =>
    digestOf(document, level, wasRevisionOf.id, revisionNumber - 1),
  );
}

/**
 * A meter measures what no meter had; what comes for another reason keeps what was metered, and meters nothing. Hours are
 * missing only where the factor of one was taken.
 */
function levelsBefore(reason: ReceiptDocument['revisionReason'], metered: string): string[] {
  if (reason === 'methodology_failed') return [DEGRADED];
  const before = reason === 'measured' ? ESTIMATED : ESTIMATED + metered;
  if (reason === 'hours_incomplete') return [before + BY_HOUR];
  const estimated = [before, before + BY_HOUR];
  return before === ESTIMATED ? [DEGRADED, ...estimated] : estimated;
}

const hasHour = ({ measurement }: ReceiptDocument): boolean =>
  measurement?.used.some(({ record }) => record['hour'] !== undefined) ?? false;

const meteredOn = ({ measurement }: ReceiptDocument): string => measurement?.metered?.digest ?? '';

function digestOf(
  { credentialSubject, degradation, tier }: ReceiptDocument,
  level: string,
  receipt: string,
  number: number,
): Uint8Array {
  // Where the region of a degraded receipt lies may have become known since.
  const { gridZone: _, ...degraded } = credentialSubject;
  const stated = level === DEGRADED ? degraded : credentialSubject;
  // What was asked for stays: a tier that was chosen afterwards could choose factors by what they come to.
  const asked = degradation?.requestedTier ?? tier;
  const words = canonicalJson([receipt, number, level, stated, asked]);
  return new Uint8Array(sha256(words).subarray(0, REPEATED_BYTES));
}
