import { createHash } from 'node:crypto';

/** base64url of SHA-256(salt bytes || raw request body): `InferenceRecord.requestDigest`. */
export function requestDigest(salt: string, body: Uint8Array): string {
  return startSaltedDigest(salt).update(body).end();
}

/** A salted SHA-256 that takes its bytes as they come. */
export interface SaltedDigest {
  update(bytes: Uint8Array | string): SaltedDigest;
  /** base64url of the 32 bytes of what was taken until now; more may come. */
  soFar(): string;
  /** base64url of the 32 bytes. Further calls of `update` and `end` throw. */
  end(): string;
}

/**
 * Starts `InferenceRecord.responseDigest`: SHA-256(salt bytes || answer without the receipt). For an answer in one
 * piece, `update` it with its bytes; for a stream with the text of every `data:` payload, in order and without
 * anything between them, `[DONE]` and the receipt left out.
 */
export function startSaltedDigest(salt: string): SaltedDigest {
  const digest = createHash('sha256').update(salt, 'base64url');
  const salted: SaltedDigest = {
    update(bytes) {
      digest.update(bytes);
      return salted;
    },
    soFar: () => digest.copy().digest('base64url'),
    end: () => digest.digest('base64url'),
  };
  return salted;
}
