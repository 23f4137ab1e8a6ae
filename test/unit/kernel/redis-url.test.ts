import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redisUrls } from '#shared/config/parsers.ts';
import { sentinelTargetOf } from '#shared/kernel/redis-url.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' });

describe('the address of a Redis behind Sentinel', () => {
  it('gives back what it was made of, with any characters in names and passwords', () => {
    forAll(
      [
        word,
        word,
        word,
        fc.array(fc.integer({ min: 1, max: 65_535 }), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
      ],
      { numRuns: runs(500) },
      (username, password, name, ports, isTls) => {
        const hosts = ports.map((port) => `redis.example:${port}`).join(',');
        const [user, secret, server] = [username, password, name].map(encodeURIComponent);
        const scheme = isTls ? 'rediss+sentinel' : 'redis+sentinel';
        const url = `${scheme}://${user}:${secret}@${hosts}/${server}/3?sentinel_password=${secret}`;
        expect(sentinelTargetOf(url)).toEqual({
          name,
          sentinels: ports.map((port) => ({ host: 'redis.example', port })),
          isTls,
          username,
          password,
          sentinelUsername: undefined,
          sentinelPassword: password,
          db: 3,
        });
        expect(redisUrls(url)).toBe(url);
      },
    );
  });

  it('needs no user, no port, no database; hosts may be addresses', () => {
    expect(sentinelTargetOf('redis+sentinel://a, [::1]:5/m')).toMatchObject({
      name: 'm',
      sentinels: [
        { host: 'a', port: 26_379 },
        { host: '::1', port: 5 },
      ],
      username: undefined,
      password: undefined,
      db: 0,
    });
    expect(sentinelTargetOf('Redis+Sentinel://:p+w@a/m?sentinel_password=a+b==')).toMatchObject({
      isTls: false,
      password: 'p+w',
      sentinelPassword: 'a+b==',
    });
    expect(sentinelTargetOf('redis://a:1,redis://b:1')).toBeUndefined();
  });

  it.each([
    'redis+sentinel://a',
    'redis+sentinel://a/',
    'redis+sentinel:///m',
    'redis+sentinel://a:0/m',
    'redis+sentinel://a:70000/m',
    'redis+sentinel://a,,b/m',
    'redis+sentinel://a:x/m',
    'redis+sentinel://u:p@w@a/m',
    'redis+sentinel://u:%zz@a/m',
    'redis+sentinel://a/m/0?password=hush',
    'redis+sentinel://a/m/x',
    'redis+sentinel://a/m?sentinel_password=%zz',
    'redis+sentinel:a/m',
  ])('%s is refused with its form, and not repeated', (url) => {
    expect(() => redisUrls(url)).toThrow(/^must be redis\+sentinel:\/\/user:password@host:port/);
  });

  it('of another scheme is told which there are', () => {
    for (const url of ['http://a', 'redis:/a', 'sentinel://a/m', 'redis://a,http://b'])
      expect(() => redisUrls(url)).toThrow(/redis:\/\/ or rediss:\/\/, or with redis\+sentinel/);
  });
});
