/**
 * Tags of a request: members of its `metadata` that its organisation has declared, each written as `key=value`. They say whose
 * use it was; nothing is decided by them but budgets, so what is not declared, or has another value, is not one.
 */

import { invalidParam } from './errors.ts';

/** Tags that an organisation declares: each receipt is counted once more for each that its request has. */
export const TAG_KEYS_MAX = 10;

/** OpenAI's bound of a key of `metadata`. It has no `=`, so a tag is split in one way. */
const KEY = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const VALUE = /^[A-Za-z0-9._-]{1,64}$/;

/** The longest that a tag can be. */
export const TAG_LENGTH_MAX = 64 + 1 + 64;

/** Members that the product itself writes, and those by which callers name persons, which usage is not counted by. */
const NEVER: readonly string[] = ['ignored_tools', 'user', 'user_id'];

/**
 * Values of a tag that are counted by themselves in a day (UTC), so that a caller who makes a new one for each request makes no
 * sum for each. A company has fewer teams and projects.
 */
export const TAG_VALUES_A_DAY_MAX = 100;

/** The name under which the rest is counted. No value can be it. */
export const OTHER_VALUES = '(other)';

/** The tags of a request, in the order in which their keys were declared; undefined where it has none. Never throws. */
export function tagsIn(metadata: unknown, keys: readonly string[]): string[] | undefined {
  if (keys.length === 0 || typeof metadata !== 'object' || metadata === null) return undefined;
  const tags = keys.flatMap((key) => {
    const value: unknown = Object.hasOwn(metadata, key) ? Reflect.get(metadata, key) : undefined;
    return typeof value === 'string' && VALUE.test(value) ? [`${key}=${value}`] : [];
  });
  return tags.length === 0 ? undefined : tags;
}

/** The key and the value of a tag as a person writes it; undefined for what cannot be one. */
export function tagOf(text: string): { key: string; value: string } | undefined {
  const at = text.indexOf('=');
  const [key, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  return isTagKey(key) && VALUE.test(value) ? { key, value } : undefined;
}

/** Whether a tag can have this key. */
export function isTagKey(key: string): boolean {
  return KEY.test(key) && !NEVER.includes(key);
}

/** What a filter by a tag must be written as. */
export const TAG_WRITTEN =
  'a key and a value with `=` between, as in `team=search`: each at most 64 of A-Z, a-z, 0-9, ".", "_" and "-"';

/** Keys as an organisation declares them, each once. @throws Fault `invalid_tags` */
export function checkTagKeys(asked: readonly string[]): string[] {
  const keys = [...new Set(asked)];
  const wrong = keys.find((key) => !isTagKey(key));
  if (wrong !== undefined && NEVER.includes(wrong)) {
    throw invalidParam(
      'tags',
      `\`${wrong}\` cannot be a tag: it is what the product writes, or names a person.`,
    );
  }
  if (wrong !== undefined) {
    throw invalidParam(
      'tags',
      'A tag is at most 64 of A-Z, a-z, 0-9, ".", "_" and "-", and begins with a letter or a digit.',
    );
  }
  if (keys.length <= TAG_KEYS_MAX) return keys;
  throw invalidParam('tags', `An organisation declares at most ${TAG_KEYS_MAX} tags.`);
}
