import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InFlight } from '#shared/lanes/in-flight.ts';
import { forAll } from '#test/support/for-all.ts';

/** Few ids, most of which collide: alike in the characters that are hashed. */
const anId = fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(40)).map(([lead, n]) => {
  return `req_${lead}${'0'.repeat(20)}${String.fromCharCode(64 + (n % 5))}`.concat(
    n > 30 ? `${n}` : '',
  );
});
const aStep = fc.oneof(
  fc.record({ set: anId, value: fc.nat() }),
  fc.record({ delete: anId }),
  fc.record({ get: anId }),
);

describe('requests in flight', () => {
  it('requests in flight are found, replaced and removed as in a Map, for any ids', () => {
    forAll([fc.array(aStep, { maxLength: 300 })], (steps) => {
      const table = new InFlight<number>();
      const model = new Map<string, number>();
      for (const step of steps) {
        if ('set' in step) {
          table.set(step.set, step.value);
          model.set(step.set, step.value);
        } else if ('delete' in step) {
          expect(table.delete(step.delete)).toBe(model.delete(step.delete));
        } else expect(table.get(step.get)).toBe(model.get(step.get));
        expect(table.size).toBe(model.size);
      }
      expect(new Set(table.values())).toEqual(new Set(model.values()));
      for (const [id, value] of model) expect(table.get(id)).toBe(value);
    });
  });

  it('thousands of requests in flight are all found, and may all leave', () => {
    const table = new InFlight<number>();
    const ids = Array.from({ length: 5_000 }, (_, i) => `req_${i.toString(36).padStart(26, '0')}`);
    ids.forEach((id, i) => table.set(id, i));
    ids.forEach((id, i) => expect(table.get(id)).toBe(i));
    for (const id of ids) table.delete(id);
    expect(table.size).toBe(0);
    expect(table.values()).toEqual([]);
    expect(table.get(ids[0]!)).toBeUndefined();
  });
});
