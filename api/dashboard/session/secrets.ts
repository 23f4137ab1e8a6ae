import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

/** A key for one use, made from the secret of the sessions (RFC 5869): what is known of one says nothing of another. */
export function keyFor(use: string, secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `docket dashboard ${use}`, 32));
}

/** The secret that signs and seals, and behind it older ones, by which what they made still counts. */
export type SessionSecrets = readonly [string, ...string[]];

export type Marks = ReturnType<typeof createMarks>;

/** Marks of texts for one use: no text gets one without a secret, and from none its text can be found. */
export function createMarks(use: string, [secret, ...older]: SessionSecrets) {
  const [key, ...olderKeys] = [keyFor(use, secret), ...older.map((one) => keyFor(use, one))];
  const by = (one: Buffer, text: string): string =>
    createHmac('sha256', one).update(text).digest('base64url');
  const of = (text: string): string => by(key, text);
  /** Those that count of a text, the one that it gets first. */
  const allOf = (text: string): string[] => [of(text), ...olderKeys.map((one) => by(one, text))];
  return {
    of,
    allOf,
    /** Hashed to one length, which is all that the comparison asks. */
    isOf: (text: string, mark: string): boolean =>
      allOf(text).some((one) =>
        timingSafeEqual(hash('sha256', one, 'buffer'), hash('sha256', mark, 'buffer')),
      ),
  };
}

/** Of 16 bytes: no two pages have one in common. */
const SALT_CHARS = 22;

/**
 * Tokens of forms, another for each page: from the lengths of many compressed pages (BREACH), only what all of them have in common
 * can be guessed.
 */
export function createFormTokens(secrets: SessionSecrets) {
  const marks = createMarks('forms', secrets);
  const salted = (subject: string, salt: string): string => `${salt} ${subject}`;
  return {
    of: (subject: string): string => {
      const salt = randomBytes(16).toString('base64url');
      return salt + marks.of(salted(subject, salt));
    },
    isOf: (subject: string, token: string): boolean =>
      marks.isOf(salted(subject, token.slice(0, SALT_CHARS)), token.slice(SALT_CHARS)),
  };
}
