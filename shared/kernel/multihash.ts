import { decodeBytes, sha256Text, encodeBytes } from '#primitives';
import { MalformedData } from './malformed-data.ts';

/**
 * Digests in documents are multihashes in multibase, as Verifiable Credentials 2.0 writes `digestMultibase`: `u`
 * (base64url without padding), then 0x12 (SHA-256), 0x20 (32 bytes) and the digest. All of them start with `uEi`.
 * Between functions digests are base64url of the 32 bytes alone.
 */
const PREFIX = Uint8Array.of(0x12, 0x20);
const DIGEST_BYTES = 32;

/** As a regular expression. The two bytes leave two bits in the fourth character, and the last one has two to spare. */
export const MULTIHASH_PATTERN = '^uEi[A-D][A-Za-z0-9_-]{42}[AQgw]$';

const scratch = new Uint8Array(PREFIX.length + DIGEST_BYTES);
scratch.set(PREFIX);

/**
 * The multihash of a digest in base64url.
 * @param path the field that will hold it, for the error
 * @throws MalformedData `wrong_value` when it is not 32 bytes
 */
export function multihashOf(digest: string, path = ''): string {
  const bytes = digest.length === 43 ? decodeBytes(digest, 'base64url') : PREFIX;
  if (bytes.length !== DIGEST_BYTES) {
    throw new MalformedData('wrong_value', path, 'a digest must be base64url of 32 bytes');
  }
  scratch.set(bytes, PREFIX.length);
  return `u${encodeBytes(scratch, 'base64url')}`;
}

/** The multihash of these bytes. */
export function multihashOfContent(content: Uint8Array): string {
  return multihashOf(sha256Text(content, 'base64url'));
}

/** The digest in a multihash whose form has been checked, as base64url. */
export function digestIn(multihash: string): string {
  return encodeBytes(digestBytesIn(multihash), 'base64url');
}

/** The 32 bytes in a multihash whose form has been checked. */
export function digestBytesIn(multihash: string): Uint8Array {
  return decodeBytes(multihash.slice(1), 'base64url').subarray(PREFIX.length);
}
