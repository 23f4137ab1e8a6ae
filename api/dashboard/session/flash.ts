import { randomBytes } from 'node:crypto';
import { SealedText } from '#shared/kernel/sealed-text.ts';
import { keyFor } from './secrets.ts';

/**
 * What is sealed with the secret of the sessions, each for one subject: what the next page is to show once, carried by the
 * visitor's own cookie, and secrets that the database keeps without being able to read them.
 */
export class Flash extends SealedText {
  constructor(secret: string) {
    super(keyFor('flash', secret), randomBytes);
  }
}
