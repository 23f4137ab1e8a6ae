import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { keyFor } from './secrets.ts';

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * What is sealed with the secret of the sessions, each for one subject: what the next page is to show once, carried by the
 * visitor's own cookie, and secrets that the database keeps without being able to read them.
 */
export class Flash {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = keyFor('flash', secret);
  }

  seal(subject: string, text: string): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, nonce).setAAD(Buffer.from(subject));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, sealed, cipher.getAuthTag()]).toString('base64url');
  }

  /** Null for what was sealed for another subject, or is made up. */
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
