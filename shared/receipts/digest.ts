import { createHash, hash, type Hash } from 'node:crypto';

/** base64url of SHA-256(salt bytes || raw request body): `InferenceRecord.requestDigest`. */
export function requestDigest(salt: string, body: Uint8Array): string {
  return digestOf(salt, body);
}

/** A salted SHA-256 that takes its text as it comes. */
export interface SaltedDigest {
  update(text: string): SaltedDigest;
  /** base64url of the 32 bytes of what was taken until now; more may come. */
  soFar(): string;
  /** base64url of the 32 bytes; nothing more may come. */
  end(): string;
}

/**
 * Starts `InferenceRecord.responseDigest`: SHA-256(salt bytes || answer without the receipt). For an answer in one
 * piece, `update` it with its text; for a stream with the text of every `data:` payload, in order and without
 * anything between them, `[DONE]` and the receipt left out.
 */
export function startSaltedDigest(salt: string): SaltedDigest {
  return new GrowingDigest(salt);
}

/** Of pieces. An answer in one piece is kept as it is, where it fits. */
const KEPT_CHARS = 4_096;

/**
 * Pieces are kept until there are some kilobytes of them: most answers are no more in all and need no object of OpenSSL,
 * and for a token of a stream a call into it is more work than its bytes. Each is a JSON text, so none ends within a
 * character.
 */
class GrowingDigest implements SaltedDigest {
  readonly #salt: string;
  #kept = '';
  #digest: Hash | undefined;

  constructor(salt: string) {
    this.#salt = salt;
  }

  update(text: string): SaltedDigest {
    if (this.#kept !== '' && this.#kept.length + text.length > KEPT_CHARS) this.#begin();
    const isFirst = this.#digest === undefined && this.#kept === '';
    if (text.length <= KEPT_CHARS || (isFirst && fits(this.#salt, 3 * text.length))) {
      this.#kept += text;
      return this;
    }
    this.#begin().update(text);
    return this;
  }

  soFar(): string {
    if (this.#digest === undefined) return digestOf(this.#salt, this.#kept);
    return this.#begin().copy().digest('base64url');
  }

  end(): string {
    if (this.#digest === undefined) return digestOf(this.#salt, this.#kept);
    return this.#begin().digest('base64url');
  }

  /** The digest of all there was. */
  #begin(): Hash {
    this.#digest ??= startDigest(this.#salt);
    if (this.#kept !== '') this.#digest.update(this.#kept);
    this.#kept = '';
    return this.#digest;
  }
}

/** Salt and content beside each other, used again by each call. */
const together = Buffer.alloc(65_536);
const fits = (salt: string, bytes: number): boolean => salt.length + bytes <= together.length;

/** base64url of SHA-256(salt bytes || content), without an object of OpenSSL where the content is small. */
function digestOf(salt: string, content: Uint8Array | string): string {
  const bytesMax = typeof content === 'string' ? 3 * content.length : content.length;
  if (!fits(salt, bytesMax)) return startDigest(salt).update(content).digest('base64url');
  const at = together.write(salt, 'base64url');
  if (typeof content !== 'string') together.set(content, at);
  const length = typeof content === 'string' ? together.write(content, at) : content.length;
  return hash('sha256', together.subarray(0, at + length), 'base64url');
}

const startDigest = (salt: string): Hash => createHash('sha256').update(salt, 'base64url');
