import { describe, expect, it } from 'vitest';
import { Type } from 'typebox';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { Components } from '#api/docs/components.ts';
import { AnswerReceipt } from '#api/docs/schemas/receipt.ts';
import { ChatBody, CompletionBody } from '#api/openai/requests.ts';
import { ResponseBody } from '#api/openai/responses.ts';

function allOf(...schemas: object[]): Record<string, Record<string, unknown>> {
  const components = new Components();
  for (const schema of schemas) components.place(schema);
  return components.all();
}

/** Every schema within, with where it stands. */
function within(value: unknown, path = ''): [string, Record<string, unknown>][] {
  if (typeof value !== 'object' || value === null) return [];
  const own = Array.isArray(value) ? [] : [[path, value] as [string, Record<string, unknown>]];
  return [...own, ...Object.entries(value).flatMap(([key, one]) => within(one, `${path}/${key}`))];
}

describe('schemas for those who generate clients', () => {
  it('alternatives that are objects are schemas with names, by where they stand and what tells them apart', () => {
    const schemas = allOf(ChatBody);
    expect(schemas['ChatMessage']!['anyOf']).toContainEqual({
      $ref: '#/components/schemas/ChatMessageAssistant',
    });
    expect(Object.keys(schemas)).toEqual(
      expect.arrayContaining([
        'ChatMessageSystemContentImageUrl',
        'ChatCompletionRequestResponseFormatJsonSchema',
        'ToolFunction',
      ]),
    );
  });

  it('no two alternatives without a tag get one name', () => {
    const one = Type.Object({ a: Type.String() });
    const other = Type.Object({ b: Type.String() });
    const schemas = allOf(Type.Object({ x: Type.Union([one, other]) }, { title: 'T' }));
    expect(Object.keys(schemas)).toEqual(['T', 'TX1', 'TX2']);
  });

  it('no request and no receipt has an inline alternative, a union of constants, or a constant that is a list', () => {
    const schemas = allOf(ChatBody, CompletionBody, ResponseBody, AnswerReceipt);
    for (const [path, schema] of within(schemas)) {
      const {
        anyOf = [],
        const: value,
        enum: values = [],
      } = schema as {
        anyOf?: Record<string, unknown>[];
        const?: unknown;
        enum?: unknown[];
      };
      if (!Array.isArray(anyOf) || !Array.isArray(values)) continue;
      expect(Array.isArray(value) || values.some(Array.isArray), path).toBe(false);
      expect(anyOf.filter((each) => 'const' in each).length, path).toBeLessThan(2);
      expect(anyOf.filter((each) => 'properties' in each).length, path).toBeLessThan(2);
    }
  });

  it('what may have members that are not named says so, since some clients refuse what they do not know', () => {
    const schemas = allOf(ChatBody, ResponseBody, AnswerReceipt);
    const objects = within(schemas).filter(
      ([, { properties, type }]) => properties !== undefined && type === 'object',
    );
    expect(objects.length).toBeGreaterThan(50);
    for (const [path, { additionalProperties }] of objects)
      expect(additionalProperties, path).toBeDefined();
    const closed = Type.Object({ a: Type.String() }, { title: 'T', additionalProperties: false });
    expect(allOf(closed)['T']!['additionalProperties']).toBe(false);
  });

  it('one truth value and null alone, of which generators make code that does not compile, take no other value', () => {
    const truth = Type.Optional(Type.Union([Type.Literal(false), Type.Null()]));
    const { T } = allOf(
      Type.Object({ a: Type.Literal(true), b: truth, c: Type.Null() }, { title: 'T' }),
    );
    for (const [path, { type, const: value, anyOf }] of within(T)) {
      if (!path.includes('anyOf'))
        expect([type, anyOf === undefined], path).not.toEqual(['null', true]);
      expect(value === undefined || path.endsWith('/not'), path).toBe(true);
    }
    const takes = new Ajv2020().compile(T!);
    expect(takes({ a: true, b: false, c: null })).toBe(true);
    expect(takes({ a: true, b: null, c: null })).toBe(true);
    expect(takes({ a: true, c: null })).toBe(true);
    for (const wrong of [{ a: false }, { b: true }, { c: 'x' }, { c: '' }, { c: 0 }]) {
      expect(takes({ a: true, b: false, c: null, ...wrong }), JSON.stringify(wrong)).toBe(false);
    }
  });

  it('a union of constants keeps its description, its default and what else may stand there', () => {
    const set = Type.Union([Type.Literal('a'), Type.Literal('b'), Type.Null()], { default: 'a' });
    const { T } = allOf(Type.Object({ x: set }, { title: 'T' }));
    expect(T!['properties']).toEqual({
      x: { default: 'a', anyOf: [{ type: 'string', enum: ['a', 'b'] }, { type: 'null' }] },
    });
  });
});
