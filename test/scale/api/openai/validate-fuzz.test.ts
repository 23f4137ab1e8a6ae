import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Compile } from 'typebox/compile';
import { findFlaw } from '#shared/kernel/flaw.ts';
import type { Schema } from '#shared/kernel/schema-words.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from '#api/openai/requests.ts';
import { validateChat, validateCompletion, validateEmbedding } from '#api/openai/validate.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

/** Values that are nearly right: the names and constants of the schemas, with anything in them. */
const words = fc.constantFrom(
  'user',
  'assistant',
  'tool',
  'function',
  'text',
  'image_url',
  'refusal',
  'auto',
  '',
  'x',
);
const { value: near } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, withCrossShrink: true },
    words,
    fc.constantFrom(null, true, 0, 1, 1.5, -1, 9, Infinity, 2 ** 60, '😀'.repeat(300)),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom(
        'role',
        'content',
        'type',
        'text',
        'id',
        'name',
        'function',
        'arguments',
        'image_url',
        'url',
        'tool_calls',
        'tool_call_id',
        '__proto__',
      ),
      tie('value'),
      { maxKeys: 5 },
    ),
    fc.jsonValue({ maxDepth: 2 }),
  ),
}));

const names = (schema: { properties: object }) =>
  fc.constantFrom(...Object.keys(schema.properties));
const message = fc.oneof(
  fc.record(
    { role: words, content: near, tool_calls: near, name: near },
    { requiredKeys: ['role'] },
  ),
  fc.record({ role: fc.constant('user'), content: fc.oneof(fc.string(), near) }),
);
const tokens = fc.array(fc.nat(), { maxLength: 3 });
const bodies = (schema: { properties: object }) =>
  fc
    .tuple(
      fc.dictionary(names(schema), near, { maxKeys: 6 }),
      fc.record(
        {
          model: fc.constant('m'),
          messages: fc.array(message, { maxLength: 3 }),
          prompt: fc.oneof(fc.string(), tokens, fc.array(tokens, { maxLength: 3 }), near),
          input: fc.oneof(fc.string(), tokens, fc.array(fc.string(), { maxLength: 3 }), near),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([any, right]) => ({ ...any, ...right }));

describe.each([
  ['validateChat', validateChat, ChatBody],
  ['validateCompletion', validateCompletion, CompletionBody],
  ['validateEmbedding', validateEmbedding, EmbeddingBody],
] as const)('%s', (_name, validate, schema) => {
  it('any JSON value is answered with itself or with a validation_error [requests.any-json]', () => {
    forAll([fc.oneof(fc.jsonValue(), bodies(schema))], { numRuns: runs(3000) }, (body) => {
      try {
        expect(validate(body)).toBe(body);
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        expect(error).toMatchObject({ type: 'validation_error', status: 400 });
        const name = error.param?.split(/[.[]/, 1)[0] ?? '';
        expect(error.code).toBe(`invalid_${name}`);
        expect([...Object.keys(schema.properties), 'body']).toContain(name);
      }
    });
  });

  it('there is a reason exactly when the compiled validator refuses [requests.any-json]', () => {
    const compiled = Compile(schema);
    forAll([fc.oneof(fc.jsonValue(), bodies(schema))], { numRuns: runs(3000) }, (body) => {
      expect(findFlaw(schema as Schema, body) === null).toBe(compiled.Check(body));
    });
  });
});

describe('the request schemas', () => {
  it('the request schemas are plain JSON Schema, as OpenAPI 3.1 wants them', () => {
    for (const schema of [ChatBody, CompletionBody, EmbeddingBody]) {
      const published = JSON.parse(JSON.stringify(schema)) as Schema;
      expect(published.type).toBe('object');
      expect(JSON.stringify(published)).not.toContain('~');
    }
  });
});
