import { DAY_MS, HOUR_MS } from '#shared/kernel/time.ts';
import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { CredentialCache } from '#api/auth/credential-cache.ts';
import { generateKey, hashKey } from '#shared/keys/format.ts';
import { credential, HeldSource, REVOKED, silent } from '#test/support/held-credentials.ts';

let source: HeldSource;
let clock: number;
let cache: CredentialCache;
const token = generateKey(randomBytes);
const hash = hashKey(token);

beforeEach(() => {
  source = new HeldSource();
  source.rows.set(hash, credential());
  clock = 0;
  cache = new CredentialCache({ source, observer: silent, monotonicNow: () => clock });
});

/** Enough turns for a batch to be sent and answered. */
const settle = async (): Promise<void> => {
  for (let i = 0; i < 5; i += 1) await turn();
};
const revokedNotice = { kind: 'key', hash, at: 0 } as const;

describe('the credential cache', () => {
  it('a cached key is answered at once, without a promise and without the store', async () => {
    await cache.lookup(token);
    clock = 2_000;
    expect(cache.lookup(token)).toEqual(credential());
    expect(source.asked).toHaveLength(1);
  });

  it('a key that may not be read now is not, and one in memory is served all the same', async () => {
    const refused = new Error('wait');
    const mayRead = (): void => {
      throw refused;
    };
    expect(() => cache.lookup(token, mayRead)).toThrow(refused);
    await settle();
    expect(source.asked).toEqual([]);
    await cache.lookup(token);
    expect(cache.lookup(token, mayRead)).toEqual(credential());
    clock = 4_501;
    expect(await cache.lookup(token, mayRead)).toEqual(credential());
    expect(() => cache.lookup(generateKey(randomBytes), mayRead)).toThrow(refused);
    expect(source.asked).toHaveLength(2);
  });

  it('a key is told whose it is when it is in memory and works now, and no store is asked for it', async () => {
    const [expiring, suspended] = [generateKey(randomBytes), generateKey(randomBytes)];
    source.rows.set(hashKey(expiring), credential({ expiresAt: 1_000 }));
    source.rows.set(hashKey(suspended), credential({ accountState: 'suspended' }));
    let now = 0;
    cache = new CredentialCache({ source, observer: silent, now: () => now });
    const owners = () => [token, expiring].map((one) => cache.ownerOf(one)?.orgId);
    const { orgId } = credential();
    expect(owners()).toEqual([undefined, undefined]);
    await Promise.all([token, expiring, suspended].map(async (one) => cache.lookup(one)));
    expect(cache.ownerOf(suspended)).toBeUndefined();
    expect(owners()).toEqual([orgId, orgId]);
    now = 1_000;
    expect(owners()).toEqual([orgId, undefined]);
    cache.changed(revokedNotice);
    expect(owners()).toEqual([undefined, undefined]);
    expect(source.asked).toHaveLength(1);
  });

  it('a key is served up to an age of 4.5 s while one refresh runs, whose result is served afterwards', async () => {
    await cache.lookup(token);
    source.rows.set(hash, REVOKED);
    clock = 2_001;
    for (let i = 0; i < 10; i += 1) expect(cache.lookup(token)).toEqual(credential());
    await settle();
    expect(source.asked).toHaveLength(2);
    expect(cache.lookup(token)).toEqual(REVOKED);
  });

  it('a revoked key whose notice is lost is served for less than 5 s', async () => {
    await cache.lookup(token);
    source.rows.set(hash, REVOKED);
    clock = 4_501;
    expect(await cache.lookup(token)).toEqual(REVOKED);
  });

  it('the age of a key is counted from when its read began, not from when it ended', async () => {
    source.hold();
    const slow = cache.lookup(token);
    await settle();
    source.rows.set(hash, REVOKED);
    clock = 4_501;
    source.release();
    expect(await slow).toEqual(credential());
    expect(await cache.lookup(token)).toEqual(REVOKED);
  });

  it('a notice drops a key, or all keys of an organisation', async () => {
    await cache.lookup(token);
    source.rows.set(hash, REVOKED);
    cache.changed(revokedNotice);
    expect(await cache.lookup(token)).toEqual(REVOKED);
    source.rows.set(hash, credential({ accountState: 'suspended' }));
    cache.changed({ kind: 'organisation', orgId: 'org_2', at: 0 });
    expect(cache.lookup(token)).toEqual(REVOKED);
    cache.changed({ kind: 'organisation', orgId: 'org_1', at: 0 });
    expect(await cache.lookup(token)).toMatchObject({ accountState: 'suspended' });
  });

  it('a read under way when a key is revoked cannot revive it', async () => {
    for (const change of [
      revokedNotice,
      { kind: 'organisation', orgId: 'org_1', at: 0 } as const,
    ]) {
      source.rows.set(hash, credential());
      const fresh = new CredentialCache({ source, observer: silent, monotonicNow: () => clock });
      source.hold();
      const early = fresh.lookup(token);
      await settle();
      source.rows.set(hash, REVOKED);
      fresh.changed(change);
      source.release();
      expect(await early).toEqual(REVOKED);
      expect(await fresh.lookup(token)).toEqual(REVOKED);
    }
  });

  it('a background refresh under way when a key is revoked cannot revive it', async () => {
    await cache.lookup(token);
    clock = 3_000;
    source.hold();
    void cache.lookup(token);
    await settle();
    source.rows.set(hash, REVOKED);
    cache.changed(revokedNotice);
    source.release();
    await settle();
    expect(await cache.lookup(token)).toEqual(REVOKED);
  });

  it('after a gap in the notices, keys that were read before it are read again', async () => {
    await cache.lookup(token);
    source.rows.set(hash, REVOKED);
    clock = 100;
    cache.changed({ kind: 'unknown' });
    expect(await cache.lookup(token)).toEqual(REVOKED);
  });

  it('cached keys keep working while the store is down, and others are store_unavailable [accounts.store-away, survives.postgres]', async () => {
    await cache.lookup(token);
    source.down = true;
    clock = 60_000;
    expect(await cache.lookup(token)).toEqual(credential());
    // Having failed a moment ago, it does not make the next request wait for another failure.
    expect(cache.lookup(token)).toEqual(credential());
    await expect(cache.lookup(generateKey(randomBytes))).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    source.down = false;
    source.rows.set(hash, REVOKED);
    clock = 61_000;
    expect(await cache.lookup(token)).toEqual(REVOKED);
  });

  it('a key that a notice has dropped is not served in an outage', async () => {
    await cache.lookup(token);
    cache.changed(revokedNotice);
    source.down = true;
    await expect(cache.lookup(token)).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it('a key is not served for ever while the store is down, and it is known until when there is one', async () => {
    expect(cache.holdsUsable()).toBe(false);
    await cache.lookup(token);
    source.down = true;
    clock = DAY_MS;
    expect(cache.holdsUsable()).toBe(true);
    clock = 25 * HOUR_MS;
    expect(cache.holdsUsable()).toBe(false);
    await expect(cache.lookup(token)).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it('many who wait for the same key cause one read', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, async () => cache.lookup(token)));
    expect(new Set(answers)).toEqual(new Set([answers[0]]));
    expect(source.asked).toEqual([[hash]]);
  });

  it('a flood of invented keys becomes two queries at a time', async () => {
    source.hold();
    const flood = Array.from({ length: 2_000 }, async () => cache.lookup(generateKey(randomBytes)));
    await settle();
    expect(source.asked.length).toBe(2);
    expect(Math.max(...source.asked.map((hashes) => hashes.length))).toBeLessThanOrEqual(256);
    source.release();
    expect(new Set(await Promise.all(flood))).toEqual(new Set([null]));
    expect(source.asked.length).toBe(8);
  });

  it('an unknown key is not looked up again, and is found as soon as it exists', async () => {
    const invented = generateKey(randomBytes);
    expect(await cache.lookup(invented)).toBeNull();
    for (let i = 0; i < 10; i += 1) expect(cache.lookup(invented)).toBeNull();
    expect(source.asked).toHaveLength(1);
    source.rows.set(hashKey(invented), credential());
    cache.changed({ kind: 'key', hash: hashKey(invented), at: 0 });
    expect(await cache.lookup(invented)).toEqual(credential());
  });

  it('a key with a wrong checksum is refused without a look-up [accounts.checksum]', () => {
    expect(cache.lookup(`${token.slice(0, -1)}${token.endsWith('0') ? '1' : '0'}`)).toBeNull();
    expect(cache.lookup('')).toBeNull();
    expect(source.asked).toEqual([]);
  });

  it('a key whose record is gone is forgotten', async () => {
    await cache.lookup(token);
    source.rows.delete(hash);
    clock = 5_000;
    expect(await cache.lookup(token)).toBeNull();
    expect(cache.lookup(token)).toBeNull();
  });

  it('the cache stays within its bound and keeps what is used', async () => {
    const small = new CredentialCache({
      source,
      observer: silent,
      monotonicNow: () => clock,
      entriesMax: 10,
    });
    await small.lookup(token);
    for (let i = 0; i < 100; i += 1) {
      const other = generateKey(randomBytes);
      source.rows.set(hashKey(other), credential());
      await small.lookup(other);
      expect(small.lookup(token)).toEqual(credential());
    }
    expect(source.asked.flat().filter((asked) => asked === hash)).toHaveLength(1);
  });
});
