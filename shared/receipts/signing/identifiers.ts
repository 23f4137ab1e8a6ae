import { createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { encodeBase58 } from '#shared/kernel/base58.ts';

/** Multicodec `ed25519-pub`, as a varint: what a Multikey's bytes start with. */
const ED25519_PUB = Uint8Array.of(0xed, 0x01);
const PUBLIC_KEY_BYTES = 32;

/** The DER of an Ed25519 SubjectPublicKeyInfo is this and the key (RFC 8410, 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** The 32 bytes of an Ed25519 public key. */
export function rawPublicKey(key: KeyObject): Uint8Array {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return Uint8Array.from(
    publicKey.export({ type: 'spki', format: 'der' }).subarray(-PUBLIC_KEY_BYTES),
  );
}

/** An Ed25519 key from its 32 bytes. */
export function publicKeyFromRaw(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
}

/** Whether an Ed25519 signature is by the key of these 32 bytes. */
export function verifyEd25519(
  rawKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return verify(null, message, publicKeyFromRaw(rawKey), signature);
}

/** RFC 7638: SHA-256 over the required members of the JWK, in lexical order. base64url. */
export function jwkThumbprint(raw: Uint8Array): string {
  return hash('sha256', `{"crv":"Ed25519","kty":"OKP","x":"${base64url(raw)}"}`, 'base64url');
}

/** `publicKeyMultibase` of a Multikey. */
export function publicKeyMultibase(raw: Uint8Array): string {
  return `z${encodeBase58(Buffer.concat([ED25519_PUB, raw]))}`;
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64url');
}
