/**
 * The JSON-LD contexts of a receipt. A signature covers the URL of a context and not what is found there, so the
 * URL of our own holds the SHA-256 of its content, so that a signed receipt cannot be given another meaning.
 */
import { decodeBytes, encodeBytes } from '#primitives';

/** The base context of Verifiable Credentials 2.0. */
export const VC_CONTEXT_URL = 'https://www.w3.org/ns/credentials/v2';

/** SHA-256 of that document, as the recommendation states it (Verifiable Credentials Data Model 2.0, B.1). */
export const VC_CONTEXT_DIGEST = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734';

/** Each form of the receipt has a context of its own, by which a reader tells them apart. */
const FORMAT_1_DIGEST = 'a70134c6639f4d828b2c4d30e00a9e9a1cfbc948118a4165b3df1fbe9353824f';
/** In the order in which they were issued; the last is cited now. Each adds terms to the one before. */
const FORMAT_2_DIGESTS = [
  '1341c221216f3fde9374ac68f1c7ca4047de3239012c50d02f698d7a5ec6067d',
  'bf141ea551111669528787789bc55ac38f855a614ec1f7eaf8389b3323c3ad53',
] as const;

/** File name of the context that new receipts cite; served under `/contexts/`. Each receipt has it twice, so it is short. */
export const RECEIPT_CONTEXT_NAME = format2ContextName(FORMAT_2_DIGESTS.at(-1)!);

/**
 * SHA-256 (hex) by name, of every context that a receipt was ever issued with. A new one is added here; none is ever
 * changed or removed.
 */
export const RECEIPT_CONTEXTS: ReadonlyMap<string, string> = new Map([
  [receiptContextName(FORMAT_1_DIGEST), FORMAT_1_DIGEST],
  ...FORMAT_2_DIGESTS.map((digest) => [format2ContextName(digest), digest] as const),
]);

/** Whether this is the address of the context of receipts in format 1. */
export function isFormat1Context(url: unknown): boolean {
  return (
    typeof url === 'string' && url.endsWith(`/contexts/${receiptContextName(FORMAT_1_DIGEST)}`)
  );
}

/** Whether this is the address of a context of receipts that give answers ids of their own: those before passed on their upstream's. */
export function hasOwnAnswerIds(url: unknown): boolean {
  if (typeof url !== 'string') return false;
  const digest = knownContextDigest(url);
  return digest !== FORMAT_1_DIGEST && digest !== FORMAT_2_DIGESTS[0];
}

function format2ContextName(digest: string): string {
  return receiptContextName(encodeBytes(decodeBytes(digest, 'hex'), 'base64url'));
}

/** `docket-receipt-<SHA-256>.jsonld`, in hex or base64url. */
function receiptContextName(digest: string): string {
  return `docket-receipt-${digest}.jsonld`;
}

/** The SHA-256 (hex) that a context's URL promises, or undefined when it is not one that receipts have. */
export function knownContextDigest(url: string): string | undefined {
  if (url === VC_CONTEXT_URL) return VC_CONTEXT_DIGEST;
  const name = /\/contexts\/([^/]+)$/.exec(url)?.[1];
  return name === undefined ? undefined : RECEIPT_CONTEXTS.get(name);
}
