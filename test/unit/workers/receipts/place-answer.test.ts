import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answerKey, idempotencyKey, keptKey } from '#shared/lanes/keys.ts';
import { answerPlacer } from '#workers/receipts/place-answer.ts';

const MIB = 1_048_576;
const OF_DAY = 256 * MIB;
const NOON = Date.UTC(2026, 5, 1, 12);

/** A placer over a Redis that has every answer, and what it has moved to PostgreSQL. */
function placer(isPostgresAway = false) {
  const counts = new Map<string, number>();
  const lives: [key: string, seconds: number][] = [];
  const moved: string[] = [];
  const time = { now: NOON };
  const place = answerPlacer({
    client: {
      incrby: async (key: string, by: number) => {
        counts.set(key, (counts.get(key) ?? 0) + by);
        return counts.get(key)!;
      },
      expire: async (key: string, seconds: number) => lives.push([key, seconds]),
      getBuffer: async (key: string) => Buffer.from(key),
    },
    large: {
      keep: async (_name, packed) => {
        if (isPostgresAway) throw new Error('away');
        moved.push(Buffer.from(packed).toString());
      },
    },
    now: () => time.now,
    onError: () => {},
  });
  let made = 0;
  const answer = (orgId = 'org_a') => {
    made += 1;
    const claim = idempotencyKey(0, orgId, `digest-${made}`);
    return { claim, requestId: `req_${made}`, delivery: 1 };
  };
  return { place, answer, moved, lives, time };
}

it(
  'Redis keeps no more than a bound of one organisation’s answers of a day, whatever their sizes; the rest is in PostgreSQL',
  { tags: ['idempotency.replay'] },
  async () => {
    const sizes = fc.array(fc.integer({ min: 4_097, max: 2 * MIB }), { maxLength: 400 });
    await fc.assert(
      fc.asyncProperty(sizes, async (all) => {
        const { place, answer, moved } = placer();
        let kept = 0;
        for (const bytes of all) {
          const name = answer();
          if ((await place(name, bytes)) === 'redis') kept += bytes;
          else expect(moved.at(-1)).toBe(answerKey(name));
        }
        expect(kept).toBeLessThanOrEqual(OF_DAY);
      }),
      { numRuns: 20 },
    );
  },
);

it('another organisation and another day begin anew, what is small stays, and the count is forgotten', async () => {
  const { place, answer, lives, time } = placer();
  const first = answer();
  for (let i = 0; i < 256; i += 1) expect(await place(answer(), MIB)).toBe('redis');
  expect(await place(first, MIB)).toBe('postgres');
  expect(await place(answer(), 4_096)).toBe('redis');
  expect(await place(answer('org_b'), MIB)).toBe('redis');
  time.now += 86_400_000;
  expect(await place(answer(), MIB)).toBe('redis');
  const days = [NOON, NOON, time.now].map((at) => Math.floor(at / 86_400_000));
  expect(lives).toEqual([
    [keptKey(first.claim, days[0]!), 172_800],
    [keptKey(answer('org_b').claim, days[1]!), 172_800],
    [keptKey(first.claim, days[2]!), 172_800],
  ]);
});

it('an answer stays in Redis when PostgreSQL is away: better a full Redis than a retry that runs twice', async () => {
  const { place, answer } = placer(true);
  expect(await place(answer(), 2 * MIB)).toBe('redis');
});
