import { expect, it } from 'vitest';
import { BytePairs } from '#shared/screening/byte-pairs.ts';

/** Single bytes, and all pairs and triples of some of them. */
function vocabulary(): BytePairs {
  const pairs = new BytePairs();
  const letters = Array.from({ length: 28 }, (_, at) => String.fromCharCode(97 + at));
  const twos = letters.flatMap((a) => letters.map((b) => a + b));
  for (const text of [...letters, ...twos]) pairs.add(text);
  for (const two of twos) for (const letter of letters) pairs.add(two + letter);
  return pairs;
}

it('what the first long word of a process needs is made in parts, between which others have their turn', () => {
  const pairs = vocabulary();
  const word = 'abcdefghij'.repeat(30);
  const [first, second] = [[...pairs.count(word)], [...pairs.count(word)]];
  // 22,736 texts in parts of 4,096.
  expect(first.length - second.length).toBeGreaterThanOrEqual(6);
  expect(first.at(-1)).toEqual(second.at(-1));
  // What comes before the count itself says nothing of the word, and is no work on it.
  for (const part of first.slice(0, 6)) expect(Object.values(part)).toEqual([0, 0, 0, 0, 0]);
});
