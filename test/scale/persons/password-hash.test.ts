import { scryptSync } from 'node:crypto';
import { expect, it } from 'vitest';
import { hashPassword, isPasswordOf } from '#shared/persons/password-hash.ts';

const PASSWORD = 'correct horse battery staple';

it('a password is kept as a salted hash that says how it was made, and nothing but the password fits it [dashboard.password]', async () => {
  const [kept, again] = [await hashPassword(PASSWORD), await hashPassword(PASSWORD)];
  expect(kept).toMatch(/^scrypt\$16384\$16\$1\$[\w-]{22}\$[\w-]{86}$/);
  expect(kept).not.toBe(again);
  expect(await isPasswordOf(kept, PASSWORD)).toBe(true);
  expect(await isPasswordOf(kept, `${PASSWORD} `)).toBe(false);
  expect(await isPasswordOf(null, PASSWORD)).toBe(false);
});

it('a hash of another cost is compared at that cost, and letters composed otherwise are the same letters [dashboard.password]', async () => {
  const salt = 'c2FsdA';
  const key = scryptSync('caf\u00e9 au lait'.normalize('NFKC'), salt, 64, {
    N: 1_024,
    r: 8,
    p: 2,
  });
  const kept = `scrypt$1024$8$2$${salt}$${key.toString('base64url')}`;
  expect(await isPasswordOf(kept, 'cafe\u0301 au lait')).toBe(true);
  expect(await isPasswordOf(kept, 'cafe au lait')).toBe(false);
});
