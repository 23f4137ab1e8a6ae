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

/** A small piece is kept until its end, or more, comes: most answers are one, and need no object of OpenSSL. */
class GrowingDigest implements SaltedDigest {
  readonly #salt: string;
  #first: string | undefined;
  #digest: Hash | undefined;

  constructor(salt: string) {
    this.#salt = salt;
  }

  update(text: string): SaltedDigest {
    const isFirst = this.#digest === undefined && this.#first === undefined;
    if (isFirst && fits(this.#salt, 3 * text.length)) {
      this.#first = text;
      return this;
    }
    this.#digest ??= startDigest(this.#salt).update(this.#first ?? '');
    this.#first = undefined;
    this.#digest.update(text);
    return this;
  }

  soFar(): string {
    return this.#digest?.copy().digest('base64url') ?? digestOf(this.#salt, this.#first ?? '');
  }

  end(): string {
    return this.#digest?.digest('base64url') ?? digestOf(this.#salt, this.#first ?? '');
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
