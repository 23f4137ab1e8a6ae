import { DAY_MS } from '#shared/kernel/time.ts';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { answerKey, idempotencyKey, keptKey } from '#shared/lanes/keys.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { answerPlacer } from '#workers/receipts/place-answer.ts';

const MIB = 1_048_576;
const OF_DAY = 256 * MIB;
const NOON = Date.UTC(2026, 5, 1, 12);

/** A placer over a Redis that has every answer, and what it has moved to PostgreSQL. */
function placer(isPostgresAway = false) {
  const counts = new Map<string, number>();
  const lives: [key: string, seconds: number][] = [];
  /** By statement. */
  const moved: string[][] = [];
  const time = { now: NOON };
  /** Bytes of each answer that is moved. */
  const size = { packed: 0 };
  const place = answerPlacer({
    client: {
      incrby: async (key: string, by: number) => {
        counts.set(key, (counts.get(key) ?? 0) + by);
        return counts.get(key)!;
      },
      expire: async (key: string, seconds: number) => lives.push([key, seconds]),
      getBuffer: async (key: string) => Buffer.from(key.padEnd(size.packed)),
    },
    large: {
      keep: async (answers) => {
        if (isPostgresAway) throw new Error('away');
        moved.push(answers.map(({ packed }) => Buffer.from(packed).toString().trimEnd()));
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
  return { place, answer, moved, lives, time, size };
}

it('Redis keeps no more than a bound of one organisation’s answers and receipts of a day, of any sizes; the rest is in PostgreSQL [idempotency.replay]', async () => {
  const size = fc.oneof(fc.integer({ min: 1, max: 4_096 }), fc.integer({ max: 2 * MIB, min: 1 }));
  const sizes = fc.array(fc.tuple(size, fc.integer({ min: 3_000, max: 2 * MIB })), {
    // Enough for the bound to be reached.
    minLength: 400,
    maxLength: 500,
  });
  await forAllAsync([sizes], { numRuns: runs(20) }, async (all) => {
    const { place, answer, moved } = placer();
    let kept = 0;
    for (const [bytes, receiptBytes] of all) {
      const name = answer();
      if ((await place(name, bytes, receiptBytes)) === 'redis') kept += bytes + receiptBytes;
      else expect(moved.at(-1)).toEqual([answerKey(name)]);
    }
    expect(kept).toBeLessThanOrEqual(OF_DAY);
  });
});

it('another organisation and another day begin anew, and the count is forgotten', async () => {
  const { place, answer, lives, time } = placer();
  const first = answer();
  for (let i = 0; i < 256; i += 1) expect(await place(answer(), MIB - 9, 9)).toBe('redis');
  expect(await place(first, 1, 3_000)).toBe('postgres');
  expect(await place(answer('org_b'), MIB, 9)).toBe('redis');
  time.now += DAY_MS;
  expect(await place(answer(), MIB, 9)).toBe('redis');
  const days = [NOON, NOON, time.now].map((at) => Math.floor(at / DAY_MS));
  expect(lives).toEqual([
    [keptKey(first.claim, days[0]!), 172_800],
    [keptKey(answer('org_b').claim, days[1]!), 172_800],
    [keptKey(first.claim, days[2]!), 172_800],
  ]);
});

it('an answer stays in Redis when PostgreSQL is away: better a full Redis than a retry that runs twice', async () => {
  const { place, answer } = placer(true);
  expect(await place(answer(), 2 * MIB, 9)).toBe('redis');
});

it('what is moved in one turn is moved in one statement, as far as that does not become too large', async () => {
  const { place, answer, moved, size } = placer();
  await place(answer(), 1, OF_DAY);
  for (const [packed, statements] of [
    [4_096, 1],
    [MIB, 2],
    [5 * MIB, 8],
  ] as const) {
    moved.length = 0;
    size.packed = packed;
    const names = Array.from({ length: 8 }, () => answer());
    await Promise.all(names.map((name) => place(name, packed, 9)));
    expect(moved.flat()).toEqual(names.map(answerKey));
    expect(moved).toHaveLength(statements);
  }
});
