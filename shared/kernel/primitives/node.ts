import { createHash, createPublicKey, hash, type KeyObject, verify } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';

/** How bytes are written in documents. */
export type TextForm = 'hex' | 'base64' | 'base64url';

/** SHA-256 of bytes, or of a text's UTF-8 bytes. */
export function sha256(data: Uint8Array | string): Uint8Array {
  return hash('sha256', data, 'buffer');
}

/** The same as text. */
export function sha256Text(data: Uint8Array | string, form: 'hex' | 'base64url'): string {
  return hash('sha256', data, form);
}

/** SHA-256 of bytes as they come; `digestWith` is of all until then and the bytes that it is given, which are not kept. */
export function startSha256(): {
  update(bytes: Uint8Array): void;
  digestWith(end: Uint8Array): Uint8Array;
} {
  const running = createHash('sha256');
  return {
    update(bytes) {
      running.update(bytes);
    },
    digestWith: (end) => running.copy().update(end).digest(),
  };
}

/** Calls back when everything else that is due has had its turn. */
export function afterOthers(go: () => void): void {
  setImmediate(go);
}

/** Lenient, as Node reads it: what is no digit is passed over. */
export function decodeBytes(text: string, form: TextForm): Uint8Array {
  return new Uint8Array(Buffer.from(text, form));
}

export function encodeBytes(bytes: Uint8Array, form: TextForm): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString(form);
}

/** Bytes of a text in UTF-8. */
export function utf8Length(text: string): number {
  return Buffer.byteLength(text);
}

/** CRC-32 as ZIP has it. */
export function crc32(bytes: Uint8Array): number {
  return zlibCrc32(bytes);
}

/** The DER of an Ed25519 SubjectPublicKeyInfo is this and the key (RFC 8410, 4). */
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

/** An Ed25519 key from its 32 bytes. */
export function publicKeyFromRaw(raw: Uint8Array): KeyObject {
  return createPublicKey({ key: Buffer.concat([SPKI_PREFIX, raw]), format: 'der', type: 'spki' });
}

/** Whether a signature is by the key of these 32 bytes; the key is read once. */
export function ed25519Verifier(
  rawKey: Uint8Array,
): (data: Uint8Array, signature: Uint8Array) => boolean {
  const publicKey = publicKeyFromRaw(rawKey);
  return (data, signature) => verify(null, data, publicKey, signature);
}

/** The DER of an ML-DSA-44 SubjectPublicKeyInfo is this and the key of 1,312 bytes (RFC 9881, 4). */
const ML_DSA_44_SPKI_PREFIX = Buffer.from('30820532300b06096086480165030403110382052100', 'hex');

/**
 * Whether a signature, without a context, is by the ML-DSA-44 key of these 1,312 bytes. Null where that cannot be checked, as
 * by Node before 24.6.
 */
export function mlDsa44Holds(
  rawKey: Uint8Array,
  data: Uint8Array,
  signature: Uint8Array,
): boolean | null {
  let key: KeyObject;
  try {
    const der = Buffer.concat([ML_DSA_44_SPKI_PREFIX, rawKey]);
    key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  } catch {
    return null;
  }
  return verify(null, data, key, signature);
}
