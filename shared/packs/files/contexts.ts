import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { LINEAGE_CONTEXT_DIGEST, LINEAGE_CONTEXT_NAME } from '#shared/lineage/context.ts';
import { PACK_CONTEXTS } from '../pack-context.ts';
import { RECEIPT_CONTEXTS, VC_CONTEXT_DIGEST } from '#shared/receipts/context.ts';

/** The base context of Verifiable Credentials 2.0 as we ship it, byte for byte the W3C's. */
const VC_CONTEXT_NAME = 'credentials-v2.jsonld';

/** SHA-256 (hex) by file name: everything that may be served under `/contexts/`. */
const DIGESTS: ReadonlyMap<string, string> = new Map([
  [VC_CONTEXT_NAME, VC_CONTEXT_DIGEST],
  ...RECEIPT_CONTEXTS,
  [LINEAGE_CONTEXT_NAME, LINEAGE_CONTEXT_DIGEST],
  ...PACK_CONTEXTS,
]);

/** The contexts that verifying a receipt takes, for packs and for serving. */
export const CONTEXT_NAMES: readonly string[] = [...DIGESTS.keys()];

const loaded = new Map<string, Buffer>();

/**
 * The bytes of a context document, or undefined when there is none of that name. Media type `application/ld+json`.
 * @throws Error when a shipped file is not what its name promises: it was changed.
 */
export function contextDocument(name: string): Buffer | undefined {
  const digest = DIGESTS.get(name);
  if (digest === undefined) return undefined;
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const bytes = readFileSync(new URL(`../../receipts/contexts/${name}`, import.meta.url));
  if (createHash('sha256').update(bytes).digest('hex') !== digest) {
    throw new Error(`The context ${name} was changed; its SHA-256 must be ${digest}.`);
  }
  loaded.set(name, bytes);
  return bytes;
}

/** The SHACL shapes of receipts, as JSON-LD: what a receipt must say, for processors that know only RDF. */
export function receiptShapes(): Buffer {
  const file = '../../receipts/contexts/docket-receipt-shapes.jsonld';
  return readFileSync(new URL(file, import.meta.url));
}
