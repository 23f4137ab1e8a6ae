/**
 * The JSON-LD contexts of a receipt. A signature covers the URL of a context and not what is found there, so the
 * URL of our own holds the SHA-256 of its content, so that a signed receipt cannot be given another meaning.
 */

/** The base context of Verifiable Credentials 2.0. */
export const VC_CONTEXT_URL = 'https://www.w3.org/ns/credentials/v2';

/** SHA-256 of that document, as the recommendation states it (Verifiable Credentials Data Model 2.0, B.1). */
export const VC_CONTEXT_DIGEST = '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734';

/** SHA-256 (hex) of the context that new receipts cite. */
const CURRENT_DIGEST = 'a70134c6639f4d828b2c4d30e00a9e9a1cfbc948118a4165b3df1fbe9353824f';

/** Every context that a receipt was ever issued with. A new one is added here; none is ever changed or removed. */
export const RECEIPT_CONTEXT_DIGESTS: readonly string[] = [CURRENT_DIGEST];

/** File name of the context that new receipts cite; served under `/contexts/`. */
export const RECEIPT_CONTEXT_NAME = receiptContextName(CURRENT_DIGEST);

/** `docket-receipt-<SHA-256>.jsonld` */
export function receiptContextName(digest: string): string {
  return `docket-receipt-${digest}.jsonld`;
}

/** The SHA-256 (hex) that a context's URL promises, or undefined when it is not one that receipts have. */
export function knownContextDigest(url: string): string | undefined {
  if (url === VC_CONTEXT_URL) return VC_CONTEXT_DIGEST;
  return RECEIPT_CONTEXT_DIGESTS.find((digest) =>
    url.endsWith(`/contexts/${receiptContextName(digest)}`),
  );
}
