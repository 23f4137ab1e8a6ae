import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  appendMember,
  dropMembers,
  elements,
  members,
  memberText,
  setMember,
} from '#shared/kernel/json-text.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';

const KEYS = [
  'model',
  'region',
  'receipt',
  'usage',
  'a"b',
  'back\\slash',
  '',
  '}{',
  'é😀',
] as const;
const key = fc.oneof(fc.constantFrom(...KEYS), fc.string({ unit: anyCharacter, maxLength: 4 }));
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n  ');

/** A value as a JSON text that JSON.stringify would not write: odd numbers, escapes, white space. */
const valueText: fc.Arbitrary<string> = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value, null, 1)),
  fc.constantFrom(
    '1.0',
    '9007199254740993',
    '-0',
    '1E400',
    '"\\u0022}{\\\\"',
    '"\\\\\\""',
    '[ ]',
    '{ }',
    '[{"a":"]"}]',
    `[${'0.25,'.repeat(40)}"]${'0'.repeat(90)}",{"a":[${'1,'.repeat(70)}2]}]`,
  ),
);

/** The key as it may be spelt in the text: plain, or every unit escaped. */
const spelt = (name: string, escaped: boolean): string =>
  escaped
    ? `"${Array.from({ length: name.length }, (_, i) => `\\u${name.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')}"`
    : JSON.stringify(name);

const objectText = fc
  .tuple(
    fc.array(
      fc.tuple(key, valueText, fc.boolean(), fc.array(space, { minLength: 5, maxLength: 5 })),
      { maxLength: 6 },
    ),
    fc.array(space, { minLength: 3, maxLength: 3 }),
  )
  .map(([pairs, [before, inside, after]]) => {
    const body = pairs.map(
      ([name, value, escaped, s]) => `${s[0]}${spelt(name, escaped)}${s[1]}:${s[2]}${value}${s[3]}`,
    );
    return `${before}{${inside}${body.join(',')}}${after}`;
  });

const parse = (text: string): Record<string, unknown> => {
  const parsed = JSON.parse(text) as Record<string, unknown>;
  // A member named __proto__ is an ordinary own member of parsed JSON; entries keep it so.
  return Object.fromEntries(Object.entries(parsed));
};

describe('members', () => {
  it('finds every member with the offsets of its key and value, duplicates included', () => {
    forAll([objectText], (text) => {
      const found = members(text);
      const rebuilt = Object.fromEntries(
        found.map((m) => [m.key, JSON.parse(text.slice(m.valueStart, m.valueEnd)) as unknown]),
      );
      expect(rebuilt).toEqual(parse(text));
      for (const member of found) {
        expect(JSON.parse(keyText(text, member))).toBe(member.key);
        expect(member.end).toBe(member.valueEnd);
      }
    });
  });
});

/** The key as it is written: what stands before the colon. */
function keyText(text: string, member: { start: number; valueStart: number }): string {
  return text.slice(member.start, member.valueStart).trimEnd().slice(0, -1);
}

describe('dropMembers', () => {
  it('gives the same value as deleting the members from the parsed object', () => {
    forAll([objectText, fc.array(key, { maxLength: 3 })], (text, keys) => {
      const expected = parse(text);
      for (const name of keys) delete expected[name];
      expect(parse(dropMembers(text, keys))).toEqual(expected);
    });
  });

  it('leaves the bytes of every other member untouched, in their order', () => {
    forAll([objectText, fc.array(key, { maxLength: 3 })], (text, keys) => {
      const edited = dropMembers(text, keys);
      const kept = members(text).filter((m) => !keys.includes(m.key));
      expect(members(edited).map((m) => edited.slice(m.start, m.end))).toEqual(
        kept.map((m) => text.slice(m.start, m.end)),
      );
    });
  });

  it('returns the very text when there is nothing to drop', () => {
    const text = '{ "model" : "m" , "seed":9007199254740993 }';
    expect(dropMembers(text, ['region', 'tier', 'receipt'])).toBe(text);
  });

  it('recognises a key that is spelt with escapes', () => {
    expect(dropMembers('{"\\u0072egion":"x","model":"m"}', ['region'])).toBe('{"model":"m"}');
  });
});

describe('setMember', () => {
  it('gives the same value as assigning in the parsed object, and keeps every other byte', () => {
    forAll([objectText, key, valueText], (text, name, value) => {
      const edited = setMember(text, name, value);
      const expected = new Map(Object.entries(parse(text))).set(name, JSON.parse(value));
      expect(parse(edited)).toEqual(Object.fromEntries(expected));
      const others = (source: string) =>
        members(source)
          .filter((m) => m.key !== name)
          .map((m) => source.slice(m.start, m.end));
      expect(others(edited)).toEqual(others(text));
    });
  });

  it('replaces every duplicate, so that first-wins and last-wins readers agree', () => {
    expect(setMember('{"model":"a", "x":1,"model":"b"}', 'model', '"up"')).toBe(
      '{"model":"up", "x":1,"model":"up"}',
    );
  });
});

describe('appendMember', () => {
  it('adds the member last, with any white space around the object', () => {
    forAll([objectText, valueText], (text, value) => {
      const name = 'added member';
      const edited = appendMember(text, name, value);
      expect(parse(edited)).toEqual({ ...parse(text), [name]: JSON.parse(value) as unknown });
      expect(members(edited).at(-1)?.key).toBe(name);
    });
  });
});

describe('elements', () => {
  it('finds where each element of an array stands, with any white space around them', () => {
    forAll([fc.array(fc.jsonValue({ maxDepth: 3 })), space], (values, between) => {
      const texts = values.map((value) => JSON.stringify(value));
      const text = `${between}[${between}${texts.join(`${between},${between}`)}${between}]`;
      expect(elements(text).map(({ start, end }) => text.slice(start, end))).toEqual(texts);
    });
  });
});

describe('memberText', () => {
  it('reads the text of a value without changing it', () => {
    const text = '{"choices":[{"index":1.0}],"id":"a"}';
    expect(memberText(text, 'id')).toBe('"a"');
    expect(memberText(text, 'choices')).toBe('[{"index":1.0}]');
    expect(memberText(text, 'index')).toBeUndefined();
  });

  it('agrees with the parser on any member', () => {
    forAll([objectText], (text) => {
      for (const [name, value] of Object.entries(parse(text))) {
        expect(JSON.parse(memberText(text, name)!)).toEqual(value);
      }
    });
  });

  it('costs no stack on deep nesting', () => {
    const text = `{"deep":${'['.repeat(1e6)}${']'.repeat(1e6)},"x":1}`;
    expect(memberText(text, 'x')).toBe('1');
  });
});
