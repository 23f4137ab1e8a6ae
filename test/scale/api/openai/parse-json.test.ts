import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstJsonError } from '#shared/kernel/json-reader.ts';
import { JSON_DEPTH_MAX, parseJsonBody } from '#api/openai/parse-json.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const fault = (raw: string | Buffer): Fault =>
  thrownBy(Fault, () => parseJsonBody(Buffer.from(raw as string)))!;

/** The characters that mean something in JSON. */
const SOUP = Array.from('[]{}:,"\\u01eE+-. tnf\n');

describe('parseJsonBody', () => {
  it('a body is given as the text that came and the value that the built-in parser gives', () => {
    forAll([fc.jsonValue(), fc.constantFrom('', '  ', '\n')], (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      expect(parseJsonBody(Buffer.from(text))).toEqual({
        text,
        value: JSON.parse(text) as unknown,
      });
    });
  });

  it('any bytes are a value or invalid_json, and nothing else', () => {
    forAll(
      [fc.oneof(fc.uint8Array(), fc.string({ unit: fc.constantFrom(...SOUP) }))],
      { numRuns: runs(2000) },
      (input) => {
        const raw = typeof input === 'string' ? Buffer.from(input) : Buffer.from(input);
        try {
          parseJsonBody(raw);
        } catch (error) {
          expect(error).toBeInstanceOf(Fault);
          expect(error).toMatchObject({
            code: 'invalid_json',
            status: 400,
            type: 'validation_error',
            param: null,
          });
        }
      },
    );
  });

  it('what the built-in parser accepts is accepted and what it refuses is refused, repeated names apart', () => {
    const soup = fc.string({
      unit: fc.constantFrom(...SOUP, 'true', 'null', '"a"'),
      maxLength: 12,
    });
    forAll([soup], { numRuns: runs(20_000) }, (text) => {
      let valid = true;
      try {
        JSON.parse(text);
      } catch {
        valid = false;
      }
      const error = firstJsonError(text);
      expect(error === null || error.repeatedName).toBe(valid || error?.repeatedName);
    });
  });

  it('a repeated name is found where it stands for the second time, and no other is', () => {
    const names = fc.array(fc.constantFrom('a', 'b', 'c', '__proto__', 'a\n'), { maxLength: 4 });
    forAll([names], (keys) => {
      const members = keys.map((key) => `${JSON.stringify(key)}:{"a":[{"a":1}]}`);
      const second = keys.findIndex((key, index) => keys.indexOf(key) < index);
      const at = 1 + members.slice(0, second).join(',').length + 1;
      expect(firstJsonError(`{${members.join(',')}}`)).toEqual(
        second === -1 ? null : expect.objectContaining({ at, repeatedName: true }),
      );
    });
  });

  it.each([
    ['', 'it ends too early'],
    ['{"a":1', 'it ends too early'],
    ['{"a":"text', 'it ends too early'],
    ['{"a":1,}', 'see line 1, column 8'],
    ['{"a":x}', 'see line 1, column 6'],
    ['{\n  "a": 1\n  "b": 2}', 'see line 3, column 3'],
    ['{"a":1}x', 'see line 1, column 8'],
    ['{"a" 1}', 'see line 1, column 6'],
    ['["\\x"]', 'see line 1, column 3'],
    ['["\t"]', 'see line 1, column 3'],
    ['[01]', 'see line 1, column 3'],
    ['{"a":1}\u0000', 'see line 1, column 8'],
  ])('the message says where %j is wrong', (text, place) => {
    expect(fault(text).message).toBe(`The body is not valid JSON: ${place}.`);
  });

  it('the place of an error is not looked for in a long body, which would keep the process busy', () => {
    const long = `[${'{},'.repeat(99_000)}`;
    expect(fault(long).message).toBe('The body is not valid JSON: it is too long to say where.');
    const repeated = `{${'"a":1,'.repeat(100_000)}"a":1}`;
    expect(fault(repeated).message).toBe(
      'The body has a repeated member name: it is too long to say where.',
    );
  });

  it('the message never repeats the body [errors.silent-on-content]', () => {
    expect(fault('{"messages":[{"content":"my secret prompt"}]').message).not.toContain('secret');
    expect(fault('my secret prompt').message).not.toContain('secret');
  });

  it('bytes that are not UTF-8 are refused', () => {
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
    ]) {
      expect(fault(Buffer.from(bytes)).message).toBe('The body is not valid UTF-8.');
    }
  });

  it('a byte-order mark is left out', () => {
    expect(parseJsonBody(Buffer.from('\ufeff{"a":1}'))).toEqual({
      text: '{"a":1}',
      value: { a: 1 },
    });
  });

  it('the deepest body allowed is accepted, and a deeper one refused without touching the stack', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(() => parseJsonBody(Buffer.from(nested(JSON_DEPTH_MAX)))).not.toThrow();
    for (const text of [
      nested(JSON_DEPTH_MAX + 1),
      '['.repeat(5_000_000),
      '{"a":'.repeat(1_000_000),
    ]) {
      expect(fault(text).code).toBe('invalid_json');
    }
  });

  it('brackets and colons inside strings are not counted', () => {
    const text = JSON.stringify({ a: `${'['.repeat(500)}":"\\"`, 'b:c': ':' });
    expect(parseJsonBody(Buffer.from(text)).text).toBe(text);
  });

  it('a repeated member name is refused at any depth, so that screening and upstream read the same prompt', () => {
    const repeated = [
      '{"messages":[1],"messages":[2]}',
      '{"a":[{"content":"x","role":"user","content":"y"}]}',
      '{"model":"a","\\u006dodel":"b"}',
      '{"__proto__":1,"__proto__":2}',
    ];
    for (const text of repeated) expect(fault(text).message).toContain('repeated member name');
    expect(fault('{"a":1,\n"a":2}').message).toContain('line 2, column 1');
  });

  it('names of the prototype are ordinary members', () => {
    const { value } = parseJsonBody(
      Buffer.from('{"__proto__":{"admin":true},"constructor":1,"toString":null}'),
    );
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor', 'toString']);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as Record<string, unknown>)['admin']).toBeUndefined();
  });
});

describe('a body that costs more than it weighs', () => {
  const refusal = (text: string) => {
    try {
      parseJsonBody(Buffer.from(text));
    } catch (error) {
      return (error as Error).message;
    }
    return null;
  };

  it('a body of empty objects is refused at the hundred thousandth [limits.body-values]', () => {
    expect(refusal(`[${'{},'.repeat(99_998)}{}]`)).toBeNull();
    expect(refusal(`[${'{},'.repeat(99_999)}{}]`)).toMatch(/more than 100000 objects/);
    expect(refusal(`[${'[],'.repeat(7_000_000)}[]]`)).toMatch(/more than 100000 objects/);
  });

  it('a body of more values than the longest window has tokens is refused before it is parsed [limits.body-values]', () => {
    expect(refusal(`[${'1,'.repeat(1_200_000)}1]`)).toBeNull();
    expect(refusal(`[${'1,'.repeat(1_200_001)}1]`)).toMatch(/more than 1200000 values/);
  });
});
