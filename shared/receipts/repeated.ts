import { sha256 } from '#primitives';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { isFormat1Context } from './context.ts';
import type { InferenceDocument, ReceiptDocument } from './document.ts';

/** Bytes of a digest of what a revision repeats: nobody finds two receipts with one. */
export const REPEATED_BYTES = 16;

/** How much of an inference a receipt states. The revision of it says the same, and perhaps more. */
const LEVELS = ['announced', 'first', 'first degraded', 'degraded', 'estimated'] as const;
type Level = (typeof LEVELS)[number];
/** Those of receipts without an estimate, which a revision may be of whose reason is that it had failed. */
const FAILED: readonly Level[] = ['announced', 'first degraded', 'degraded'];

/** A digest of what the revision of this receipt has to repeat of it. */
export function repeatedOf(document: ReceiptDocument): Uint8Array {
  const { id, revisionNumber = 0 } = document;
  return digestOf(document, levelOf(document), id, revisionNumber);
}

/** What that digest of the receipt before this one may be: by the receipt that it names, and its own words. */
export function repeatedBefore(document: ReceiptDocument): Uint8Array[] {
  const { wasRevisionOf, revisionNumber = 0, revisionReason: reason } = document;
  if (wasRevisionOf === undefined) return [];
  // In format 1 a reason is in the words of a person.
  const isOfFailed = reason === 'methodology_failed' && !isFormat1Context(document['@context'][1]);
  return (isOfFailed ? FAILED : LEVELS).map((level) =>
    digestOf(document, level, wasRevisionOf.id, revisionNumber - 1),
  );
}

function levelOf({ '@context': contexts, measurement, degradation }: ReceiptDocument): Level {
  if (degradation?.stage === 'issuance') return 'announced';
  const isFirst = isFormat1Context(contexts[1]);
  if (measurement === undefined) return isFirst ? 'first degraded' : 'degraded';
  return isFirst ? 'first' : 'estimated';
}

function digestOf(
  { credentialSubject }: ReceiptDocument,
  level: Level,
  receipt: string,
  number: number,
): Uint8Array {
  const words = canonicalJson([receipt, number, level, wordsAt(level, credentialSubject)]);
  return new Uint8Array(sha256(words).subarray(0, REPEATED_BYTES));
}

/** Of every receipt of an inference. */
const ALWAYS = ['id', 'organisation', 'route', 'model', 'region', 'startedAt'] as const;
/** Format 1 wrote other members in another way. */
const OF_FORMAT_1 = [
  ...ALWAYS,
  'outcome',
  'salt',
  'requestDigest',
  'inputTokens',
  'cachedInputTokens',
  'outputTokens',
  'usageSource',
] as const satisfies readonly (keyof InferenceDocument)[];

function wordsAt(level: Level, subject: ReceiptDocument['credentialSubject']) {
  // Where the region lies may have become known since.
  const { gridZone: _, ...degraded } = subject;
  if (level === 'estimated') return subject;
  if (level === 'degraded') return degraded;
  const stated: Partial<InferenceDocument> = subject;
  return (level === 'announced' ? ALWAYS : OF_FORMAT_1).map((name) => stated[name] ?? '');
}
