import { createPublicKey, type KeyObject } from 'node:crypto';
import { ed25519Verifier } from '#primitives';

const PUBLIC_KEY_BYTES = 32;

/** The 32 bytes of an Ed25519 public key. */
export function rawPublicKey(key: KeyObject): Uint8Array {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return Uint8Array.from(
    publicKey.export({ type: 'spki', format: 'der' }).subarray(-PUBLIC_KEY_BYTES),
  );
}

/** Whether an Ed25519 signature is by the key of these 32 bytes. */
export function verifyEd25519(
  rawKey: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  return ed25519Verifier(rawKey)(message, signature);
}
