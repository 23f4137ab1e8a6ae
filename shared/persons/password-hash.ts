import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { PASSWORD_WORK_DIVISOR } from '#patience';

/** Of scrypt (RFC 7914): 32 MB, and about 60 ms for each guess. */
const [N, r, p] = [16_384 / PASSWORD_WORK_DIVISOR, 16, 1];
const KEY_BYTES = 64;
const SALT_BYTES = 16;

/** A password as it is kept: `scrypt$<N>$<r>$<p>$<salt>$<key>`. It says how it was made, so that the cost can be raised. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(SALT_BYTES).toString('base64url');
  const key = await keyOf(password, salt, { N, r, p });
  return ['scrypt', N, r, p, salt, key.toString('base64url')].join('$');
}

/**
 * Whether this is the password that is kept. Where none is kept it takes the same time to say no, so that the time does not
 * tell who has one.
 */
export async function isPasswordOf(kept: string | null, password: string): Promise<boolean> {
  const [, n, blocks, lanes, salt, key] = (kept ?? (await hashPassword(password))).split('$');
  if (kept === null) return false;
  const cost = { N: Number(n), r: Number(blocks), p: Number(lanes) };
  return timingSafeEqual(await keyOf(password, salt!, cost), Buffer.from(key!, 'base64url'));
}

/** One key however a keyboard composes letters. */
function keyOf(
  password: string,
  salt: string,
  cost: { N: number; r: number; p: number },
): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const options = { ...cost, maxmem: 256 * cost.N * cost.r };
  scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) =>
    error === null ? resolve(key) : reject(error),
  );
  return promise;
}
