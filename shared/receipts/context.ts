/**
 * The JSON-LD contexts of a receipt. A signature covers the URL of a context and not what is found there, so the
 * URL of our own holds the SHA-256 of its content, so that a signed receipt cannot be given another meaning.
 */
import { decodeBytes, encodeBytes } from '#primitives';

/** The base context of Verifiable Credentials 2.0. */
export const VC_CONTEXT_URL = 'https://www.w3.org/ns/credentials/v2';

/** SHA-256 of that document, as the recommendation states it (Verifiable Credentials Data Model 2.0, B.1). */
export const VC_CONTEXT_DIGEST = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734';

/** SHA-256 (hex) of the context of each form of the receipt, by which a reader tells forms apart. */
const DIGESTS = {
  1: '6de1e97c24ac76ec599c54dc05036c07c125289817502f3f92a57b8cb15c3888',
} as const;
export type ReceiptFormat = keyof typeof DIGESTS;
const FORMATS: readonly ReceiptFormat[] = [1];
/** The one in which receipts are issued. */
export const RECEIPT_FORMAT: ReceiptFormat = 1;

/** File name of the context that new receipts cite; served under `/contexts/`. Each receipt has it twice, so it is short. */
export const RECEIPT_CONTEXT_NAME = receiptContextName(DIGESTS[RECEIPT_FORMAT]);

/** SHA-256 (hex) by name, of the contexts of receipts. */
export const RECEIPT_CONTEXTS: ReadonlyMap<string, string> = new Map(
  Object.values(DIGESTS).map((digest) => [receiptContextName(digest), digest]),
);

/** `docket-receipt-<SHA-256 in base64url>.jsonld` */
function receiptContextName(digest: string): string {
  return `docket-receipt-${encodeBytes(decodeBytes(digest, 'hex'), 'base64url')}.jsonld`;
}

/** How contexts of receipts are named, those of later formats too. */
const NAMED_AS_RECEIPTS = /\/contexts\/docket-receipt-[A-Za-z0-9_-]{43}\.jsonld$/;

/** What is told of evidence that says that it is of a later format: a forger can say so too. */
export const NOTHING_CHECKED =
  'nothing of it was checked, and anyone can write that. Take a later release, from its makers and not from where this came from.';

/** Whether a context is named as those of receipts are, and is of no format that is known here: a later one may have it. */
export function isOfUnknownFormat(url: string): boolean {
  return NAMED_AS_RECEIPTS.test(url) && knownContextDigest(url) === undefined;
}

/** The form of receipts that cite this context; undefined for one that none was issued with. */
export function formatOfContext(url: unknown): ReceiptFormat | undefined {
  const digest = typeof url === 'string' ? knownContextDigest(url) : undefined;
  return FORMATS.find((format) => DIGESTS[format] === digest);
}

/** The SHA-256 (hex) that a context's URL promises, or undefined when it is not one that receipts have. */
export function knownContextDigest(url: string): string | undefined {
  if (url === VC_CONTEXT_URL) return VC_CONTEXT_DIGEST;
  const name = /\/contexts\/([^/]+)$/.exec(url)?.[1];
  return name === undefined ? undefined : RECEIPT_CONTEXTS.get(name);
}
