import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const codeOf = (read: () => unknown): string => thrownBy(MalformedData, read)?.code ?? 'read';

describe('JSON that two readers could understand differently is refused', () => {
  it.each([
    ['{"a":1,"a":1}', 'duplicate_key'],
    ['{"a":1,"\\u0061":1}', 'duplicate_key'],
    ['{"__proto__":1}', 'forbidden_key'],
    ['{"\\u005f_proto__":{"a":1}}', 'forbidden_key'],
    ['{"é":1}', 'non_ascii_key'],
    ['{"":1}', 'non_ascii_key'],
    ['1.0', 'not_an_integer'],
    ['1e2', 'not_an_integer'],
    ['-0', 'not_an_integer'],
    ['9007199254740992', 'not_an_integer'],
    [`1${'0'.repeat(400)}`, 'not_an_integer'],
    ['null', 'null_value'],
    ['{"a":[null]}', 'null_value'],
    ['"\\ud800"', 'lone_surrogate'],
    ['"\\udc00\\ud800"', 'lone_surrogate'],
    ['"\ud800"', 'lone_surrogate'],
    ['['.repeat(100), 'too_deep'],
    ['{"a":'.repeat(100), 'too_deep'],
    ['', 'not_json'],
    ['{', 'not_json'],
    ['{"a"', 'not_json'],
    ['{"a":1,}', 'not_json'],
    ['[1,]', 'not_json'],
    ["{'a':1}", 'not_json'],
    ['{a:1}', 'not_json'],
    ['01', 'not_json'],
    ['-', 'not_json'],
    ['+1', 'not_json'],
    ['"\\x"', 'not_json'],
    ['"\\u12"', 'not_json'],
    ['"a\nb"', 'not_json'],
    ['"a', 'not_json'],
    ['"a\\', 'not_json'],
    ['{} {}', 'not_json'],
    ['\ufeff{}', 'not_json'],
    ['NaN', 'not_json'],
    ['tru', 'not_json'],
  ])('%j: %s', (json, code) => {
    expect(codeOf(() => parseStrictJson(json))).toBe(code);
  });

  it('all else reads as JSON.parse reads it', () => {
    const value = fc.letrec((tie) => ({
      leaf: fc.oneof(
        fc.maxSafeInteger().map((n) => n + 0),
        fc.string({ unit: 'grapheme' }),
        fc.boolean(),
      ),
      value: fc.oneof(
        { maxDepth: 6 },
        tie('leaf'),
        fc.array(tie('value')),
        fc.dictionary(
          fc.stringMatching(/^[ -~]+$/).filter((key) => key !== '__proto__'),
          tie('value'),
        ),
      ),
    })).value;
    forAll([value, fc.constantFrom(undefined, 2, '\t', '\r\n')], (any, space) => {
      const json = JSON.stringify(any, null, space === '\r\n' ? '\n' : space);
      expect(parseStrictJson(json)).toEqual(JSON.parse(json));
    });
  });
});
