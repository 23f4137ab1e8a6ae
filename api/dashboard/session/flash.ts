import { randomBytes } from 'node:crypto';
import { SealedText } from '#shared/kernel/sealed-text.ts';
import { keyFor, type SessionSecrets } from './secrets.ts';

/**
 * What is sealed with the secret of the sessions, each for one subject: what the next page is to show once, carried by the
 * visitor's own cookie, and secrets that the database keeps without being able to read them.
 */
export class Flash extends SealedText {
  readonly #older: readonly SealedText[];

  constructor([secret, ...older]: SessionSecrets) {
    super(keyFor('flash', secret), randomBytes);
    this.#older = older.map((one) => new SealedText(keyFor('flash', one), randomBytes));
  }

  override open(subject: string, sealed: string): string | null {
    const text = super.open(subject, sealed);
    if (text !== null) return text;
    return this.#older.map((one) => one.open(subject, sealed)).find((one) => one !== null) ?? null;
  }

  /** What a text that was opened is to be kept as: as it is, unless an older secret sealed it. */
  renewed(subject: string, sealed: string, text: string): string {
    return super.open(subject, sealed) === null ? this.seal(subject, text) : sealed;
  }
}
