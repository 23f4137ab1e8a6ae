import { sha256Text, encodeBytes } from '#primitives';
import { encodeBase58 } from '#shared/kernel/base58.ts';

/** Multicodec `ed25519-pub`, as a varint: what a Multikey's bytes start with. */
const ED25519_PUB = Uint8Array.of(0xed, 0x01);

/** RFC 7638: SHA-256 over the required members of the JWK, in lexical order. base64url. */
export function jwkThumbprint(raw: Uint8Array): string {
  return sha256Text(`{"crv":"Ed25519","kty":"OKP","x":"${base64url(raw)}"}`, 'base64url');
}

/** `publicKeyMultibase` of a Multikey. */
export function publicKeyMultibase(raw: Uint8Array): string {
  return `z${encodeBase58(Uint8Array.from([...ED25519_PUB, ...raw]))}`;
}

export function base64url(bytes: Uint8Array): string {
  return encodeBytes(bytes, 'base64url');
}
