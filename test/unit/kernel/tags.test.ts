import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  checkTagKeys,
  isTagKey,
  OTHER_VALUES,
  TAG_KEYS_MAX,
  TAG_LENGTH_MAX,
  tagOf,
  tagsIn,
} from '#shared/kernel/tags.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const KEYS = ['team', 'project', '0.a_b-C', 'constructor', 'x'.repeat(64)];
const value = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/),
  fc.string(),
  fc.jsonValue(),
  fc.constantFrom('a'.repeat(65), 'a=b', 'a,b', 'a\n', '', ' a', 'ä', OTHER_VALUES),
);
const metadata = fc.oneof(
  fc.anything(),
  fc.dictionary(fc.oneof(fc.constantFrom(...KEYS, 'ignored_tools', 'user'), fc.string()), value),
);

it('of any metadata nothing comes out but declared keys with values of the alphabet, as they were, and nothing is thrown [tags.declared]', () => {
  forAll([metadata, fc.subarray(KEYS)], { numRuns: runs(2_000, 200) }, (given, keys) => {
    const tags = tagsIn(given, keys) ?? [];
    for (const tag of tags) {
      const { key, value: text } = tagOf(tag)!;
      expect(keys).toContain(key);
      expect(text).toBe((given as Record<string, unknown>)[key]);
      expect(tag.length).toBeLessThanOrEqual(TAG_LENGTH_MAX);
      expect(tag).not.toMatch(/[^\w.=-]/);
    }
    expect(new Set(tags).size).toBe(tags.length);
  });
  expect(tagsIn({ team: 'search', project: 'a b', other: 'x' }, KEYS)).toEqual(['team=search']);
  expect(tagsIn({ team: 'search' }, [])).toBeUndefined();
});

it('what the product writes and what names a person cannot be declared, nor more than ten keys [tags.declared]', () => {
  for (const never of [
    'ignored_tools',
    'user',
    'user_id',
    '',
    'a=b',
    'a,b',
    '_a',
    'x'.repeat(65),
  ]) {
    expect(isTagKey(never)).toBe(false);
    expect(() => checkTagKeys(['team', never])).toThrow(
      expect.objectContaining({ code: 'invalid_tags' }),
    );
  }
  const many = Array.from({ length: TAG_KEYS_MAX }, (_, i) => `k${i}`);
  expect(checkTagKeys([...many, 'k0'])).toEqual(many);
  expect(() => checkTagKeys([...many, 'one-more'])).toThrow(
    expect.objectContaining({ code: 'invalid_tags' }),
  );
});
