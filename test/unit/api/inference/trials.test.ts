import { expect, it } from 'vitest';
import { Trials } from '#api/inference/trials.ts';

/** An organisation that has had the request of its own. */
function without(...circuits: string[]): Trials {
  const trials = new Trials();
  for (const circuit of circuits)
    trials.take(circuit, { isDue: false, answers: true, orgId: 'a' }, 0);
  return trials;
}
const due = { isDue: true, answers: true, orgId: 'a' };
const open = { isDue: false, answers: true, orgId: 'a' };

it('one request in two seconds may try a circuit that is due, each circuit for itself', () => {
  const trials = without('eu a', 'us a');
  expect(trials.take('eu a', due, 0)).toBe(true);
  expect(trials.take('eu a', due, 1_999)).toBe(false);
  expect(trials.take('us a', due, 1_999)).toBe(true);
  expect(trials.take('eu a', due, 2_000)).toBe(true);
});

it('one request of each organisation in a minute may try one that bad answers to others opened, and none of what is not there', () => {
  const trials = without('eu a');
  expect(trials.take('eu a', open, 59_999)).toBe(false);
  expect(trials.take('eu a', { ...open, orgId: 'b' }, 1)).toBe(true);
  expect(trials.take('eu a', { ...open, orgId: 'b' }, 2)).toBe(false);
  expect(trials.take('us a', open, 1)).toBe(true);
  expect(trials.take('eu a', open, 60_000)).toBe(true);
  expect(trials.take('eu a', { isDue: false, answers: false, orgId: 'c' }, 0)).toBe(false);
});
