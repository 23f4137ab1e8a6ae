import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import Type, { type TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { describe, expect, it } from 'vitest';
import type { Schema } from '#shared/kernel/schema-words.ts';
import { findFlaw } from '#shared/kernel/flaw.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const example = readFileSync(
  new URL('../../vectors/receipt/receipt.json', import.meta.url),
  'utf8',
);

type Place = readonly string[];

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, inner]) => placesIn(inner, [...at, key]))];
}

/** The example with something else at one place, a field more there, or one less. */
function edited(place: Place, put: unknown, how: 'replace' | 'add' | 'remove'): unknown {
  const document: unknown = JSON.parse(example);
  let holder = document as Record<string, unknown>;
  const [last = '', ...way] = place.toReversed();
  for (const step of way.toReversed()) holder = holder[step] as Record<string, unknown>;
  if (how === 'remove') delete holder[last];
  else if (how === 'replace' || typeof holder[last] !== 'object') holder[last] = put;
  else (holder[last] as Record<string, unknown>)['more'] = put;
  // An array keeps neither a hole nor a name.
  return JSON.parse(JSON.stringify(document));
}

const anyEdit = fc
  .tuple(
    fc.constantFrom(...placesIn(JSON.parse(example)).filter((place) => place.length > 0)),
    fc.oneof(fc.jsonValue(), fc.constantFrom('', 'x', -1, 0, 1.5, '2026-02-31T00:00:00Z', [])),
    fc.constantFrom('replace', 'add', 'remove'),
  )
  .map((edit) => edited(...edit));

describe('a shape', () => {
  it('takes exactly what the compiled schema takes, and names a place for all else', () => {
    const compiled = Compile(FORMAT_1);
    const read = shapeOf(FORMAT_1);
    forAll([fc.oneof(anyEdit, fc.jsonValue())], { numRuns: runs(2_000) }, (document) => {
      const fits = compiled.Check(document);
      expect(findFlaw(FORMAT_1 as Schema, document) === null).toBe(fits);
      if (fits) expect(read(document)).toBe(document);
      else expect(() => read(document)).toThrow(MalformedData);
    });
  });

  const where = (schema: TSchema, value: unknown): unknown => {
    try {
      shapeOf(schema)(value);
      return 'fits';
    } catch (error) {
      return [(error as MalformedData).code, (error as MalformedData).path];
    }
  };
  const range = Type.Object(
    { min: Type.Number(), max: Type.Number() },
    { additionalProperties: false },
  );
  const either = Type.Object({ pue: Type.Union([Type.Number({ minimum: 1 }), range]) });

  it.each<[string, TSchema, unknown, unknown]>([
    ['a number where there may be one', either, { pue: 1.2 }, 'fits'],
    ['an object where there may be one', either, { pue: { min: 1, max: 2 } }, 'fits'],
    ['the bound of the one that was meant', either, { pue: 0.5 }, ['wrong_value', 'pue']],
    [
      'the field of the one that was meant',
      either,
      { pue: { min: '1', max: 2 } },
      ['wrong_value', 'pue.min'],
    ],
    ['the field that it lacks', either, { pue: { min: 1 } }, ['missing_field', 'pue.max']],
    [
      'the field that it has too many',
      either,
      { pue: { min: 1, max: 2, x: 3 } },
      ['unknown_field', 'pue.x'],
    ],
    ['none of them', either, { pue: 'low' }, ['wrong_value', 'pue']],
    ['a name that objects inherit', FORMAT_1, { constructor: 1 }, ['missing_field', '@context']],
  ])('says of alternatives: %s', (_, schema, value, expected) => {
    expect(where(schema, value)).toEqual(expected);
  });
});
