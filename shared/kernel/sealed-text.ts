import { createCipheriv, createDecipheriv } from 'node:crypto';
import type { Surroundings } from './surroundings.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Texts that are sealed with one key, each for one subject: AES-256-GCM with a random nonce. */
export class SealedText {
  readonly #key: Uint8Array;
  readonly #randomBytes: Surroundings['randomBytes'];

  /** @param key 32 bytes */
  constructor(key: Uint8Array, randomBytes: Surroundings['randomBytes']) {
    this.#key = key;
    this.#randomBytes = randomBytes;
  }

  seal(subject: string, text: string): string {
    const nonce = this.#randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(subject));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Null for what was sealed for another subject or with another key, or is made up. */
  open(subject: string, sealed: string): string | null {
    const bytes = Buffer.from(sealed, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
    const decipher = createDecipheriv('aes-256-gcm', this.#key, bytes.subarray(0, NONCE_BYTES), {
      authTagLength: TAG_BYTES,
    })
      .setAAD(Buffer.from(subject))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      return null;
    }
  }
}
