import { describe, expect, it } from 'vitest';
import { inTurns, nextTurn } from '#shared/kernel/turns.ts';

function* counting(to: number): Generator<void, number> {
  let count = 0;
  for (; count < to; count += 1) yield;
  return count;
}

describe('turns of long work', () => {
  it('of many works only one has its turn in each round of the event loop', async () => {
    let turns = 0;
    const most: number[] = [];
    const watch = (): void => {
      most.push(turns);
      turns = 0;
      if (most.length < 100) setImmediate(watch);
    };
    setImmediate(watch);
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        for (let i = 0; i < 5; i += 1) {
          await nextTurn();
          turns += 1;
        }
      }),
    );
    expect(Math.max(...most)).toBe(1);
  });

  it('work in turns gives what it comes to', async () => {
    expect(await inTurns(counting(3))).toBe(3);
  });

  it('work that fails in the middle does not hold up the others', async () => {
    const failing = (function* (): Generator<void, never> {
      yield;
      throw new Error('broken');
    })();
    const [failed, done] = await Promise.allSettled([inTurns(failing), inTurns(counting(3))]);
    expect([failed.status, done.status]).toEqual(['rejected', 'fulfilled']);
  });
});
