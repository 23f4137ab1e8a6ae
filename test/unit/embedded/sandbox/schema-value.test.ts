import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '#embedded/sandbox/random.ts';
import { schemaValue } from '#embedded/sandbox/schema-value.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const ajv = new Ajv2020({ strict: false, validateFormats: false });

function expectValid(schema: object, seed: number): void {
  const value = schemaValue(schema, seededRandom(seed));
  const valid = ajv.validate(schema, value);
  expect(valid, `${JSON.stringify(schema)} ⊬ ${JSON.stringify(value)}: ${ajv.errorsText()}`).toBe(
    true,
  );
}

const { schema: anySchema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constant({ type: 'boolean' }),
    fc.record({
      enum: fc.uniqueArray(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 }),
    }),
    fc.record({ type: fc.constant('string'), minLength: fc.nat(40) }),
    fc
      .tuple(fc.integer({ min: -1000, max: 1000 }), fc.nat(50))
      .map(([minimum, span]) => ({ type: 'integer', minimum, maximum: minimum + span })),
    fc
      .tuple(
        fc.double({ min: -50, max: 50, noNaN: true }),
        fc.double({ min: 0.001, max: 9, noNaN: true }),
      )
      .map(([low, span]) => ({
        type: 'number',
        exclusiveMinimum: low,
        exclusiveMaximum: low + span,
      })),
    fc.record({ type: fc.constant('array'), items: tie('schema'), minItems: fc.nat(4) }),
    fc
      .dictionary(fc.string({ minLength: 1, maxLength: 6 }), tie('schema'), { maxKeys: 4 })
      .map((properties) => ({
        type: 'object',
        properties,
        required: Object.keys(properties).slice(0, 2),
        additionalProperties: false,
      })),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant(['null', 'string']) }),
  ),
}));

describe('values for a JSON Schema', () => {
  it('satisfy it, also with schemas nested in it', () => {
    forAll([anySchema, fc.integer()], { numRuns: runs(300) }, (schema, seed) =>
      expectValid(schema, seed),
    );
  });

  it('follow local references, also recursive ones', () => {
    const schema = {
      $ref: '#/$defs/node',
      $defs: {
        node: {
          type: 'object',
          properties: {
            name: { type: 'string' },
            children: { type: 'array', items: { $ref: '#/$defs/node' } },
          },
          required: ['name', 'children'],
          additionalProperties: false,
        },
      },
    };
    for (let seed = 0; seed < 5; seed += 1) expectValid(schema, seed);
  });

  it('keep a property named __proto__ a property', () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"integer"}},"required":["__proto__"]}',
    ) as object;
    expect(JSON.stringify(schemaValue(schema, seededRandom(1)))).toMatch(/^\{"__proto__":\d+\}$/);
  });

  it('exist even for schemas that nothing satisfies', () => {
    const endless = { type: 'object', properties: { self: { $ref: '#' } }, required: ['self'] };
    expect(() => schemaValue(endless, seededRandom(1))).not.toThrow();
    expect(() => schemaValue(undefined, seededRandom(1))).not.toThrow();
    expect(() => schemaValue({ $ref: '#/nowhere' }, seededRandom(1))).not.toThrow();
  });
});
