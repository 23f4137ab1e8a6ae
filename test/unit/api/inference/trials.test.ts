import { expect, it } from 'vitest';
import { Trials } from '#api/inference/trials.ts';

it('one request in two seconds may try a circuit, each circuit for itself', () => {
  const trials = new Trials();
  expect(trials.take('eu a', 0)).toBe(true);
  expect(trials.take('eu a', 1_999)).toBe(false);
  expect(trials.take('us a', 1_999)).toBe(true);
  expect(trials.take('eu a', 2_000)).toBe(true);
});
