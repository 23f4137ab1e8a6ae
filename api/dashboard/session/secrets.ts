import { createHmac, hash, hkdfSync, timingSafeEqual } from 'node:crypto';

/** A key for one use, made from the secret of the sessions (RFC 5869): what is known of one says nothing of another. */
export function keyFor(use: string, secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `docket dashboard ${use}`, 32));
}

export type Marks = ReturnType<typeof createMarks>;

/** Marks of texts for one use: no text gets one without the secret, and from none its text can be found. */
export function createMarks(use: string, secret: string) {
  const key = keyFor(use, secret);
  const of = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  return {
    of,
    /** Hashed to one length, which is all that the comparison asks. */
    isOf: (text: string, mark: string): boolean =>
      timingSafeEqual(hash('sha256', of(text), 'buffer'), hash('sha256', mark, 'buffer')),
  };
}
