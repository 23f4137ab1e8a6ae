import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SecondChanceMap } from '#api/auth/second-chance-map.ts';
import { forAll } from '#test/support/for-all.ts';

/** A full map of entries that are named by their order. */
function full(size: number): SecondChanceMap<number> {
  const map = new SecondChanceMap<number>(size);
  for (let i = 0; i < size; i += 1) map.set(`${i}`, i);
  return map;
}

/** Which of the first entries are not there any more. */
function gone(map: SecondChanceMap<number>, size: number): number[] {
  return Array.from({ length: size }, (_, i) => i).filter((i) => map.peek(`${i}`) === undefined);
}

describe('a map that forgets what is not used', () => {
  it('looks at 32 entries at most to make room, and goes on behind them the next time', () => {
    const map = full(96);
    for (let i = 0; i < 96; i += 1) map.get(`${i}`);
    // All were used: of each 32 looked at, the last goes.
    map.set('a', 0);
    expect(gone(map, 96)).toEqual([31]);
    map.set('b', 0);
    map.set('c', 0);
    expect(gone(map, 96)).toEqual([31, 63, 95]);
    // Those that were passed over have not been used since.
    map.set('d', 0);
    map.get('1');
    map.set('e', 0);
    expect(gone(map, 96)).toEqual([0, 2, 31, 63, 95]);
  });

  it('keeps what is used while a flood of others passes through', () => {
    const map = full(100);
    for (let i = 0; i < 10_000; i += 1) {
      for (let used = 0; used < 10; used += 1) map.get(`${used * 7}`);
      map.set(`flood ${i}`, i);
    }
    expect(map.size).toBe(100);
    expect(gone(map, 100)).toHaveLength(90);
    for (let used = 0; used < 10; used += 1) expect(map.peek(`${used * 7}`)).toBe(used * 7);
  });

  it('holds so many at most, the last that came, and nothing that was deleted', () => {
    const step = fc.record({
      act: fc.constantFrom('set', 'get', 'delete', 'deleteWhere'),
      key: fc.integer({ min: 0, max: 12 }),
    });
    forAll([fc.array(step, { maxLength: 200 })], (steps) => {
      const map = new SecondChanceMap<number>(5);
      const held = new Map<string, number>();
      for (const [i, { act, key }] of steps.entries()) {
        const name = `${key}`;
        if (act === 'set') {
          const before = held.size;
          const isNew = !held.has(name);
          map.set(name, i);
          held.set(name, i);
          const lost = [...held.keys()].filter((one) => map.peek(one) === undefined);
          expect(lost).toHaveLength(isNew && before === 5 ? 1 : 0);
          expect(lost).not.toContain(name);
          for (const one of lost) held.delete(one);
        } else if (act === 'get') map.get(name);
        else if (act === 'delete') {
          map.delete(name);
          held.delete(name);
        } else {
          map.deleteWhere((value) => value % 3 === key % 3);
          for (const [one, value] of held) if (value % 3 === key % 3) held.delete(one);
        }
        expect(map.size).toBe(held.size);
        for (let one = 0; one <= 12; one += 1) expect(map.peek(`${one}`)).toBe(held.get(`${one}`));
      }
    });
  });
});
