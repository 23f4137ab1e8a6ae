import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LONG } from '#shared/kernel/turns.ts';
import { withEncodingAsked } from '#workers/inference/bodies.ts';
import { parseEmbeddings } from '#workers/inference/long-answers.ts';
import { forAllAsync } from '#test/support/for-all.ts';

const vector = fc.oneof(
  fc.array(fc.double()),
  fc.base64String(),
  fc.jsonValue({ maxDepth: 2 }),
  fc.constant('a "embedding":[1] in a text'),
);
const item = fc.dictionary(
  fc.constantFrom('embedding', 'index', 'object', 'an "embedding', 'embedding"'),
  vector,
);
const answer = fc.record({ data: fc.array(item), usage: fc.jsonValue(), embedding: vector });

/** What a promise comes to, and how often others had their turn before that. */
async function withTurns<T>(work: Promise<T>): Promise<[T, number]> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const value = await work;
  isOver = true;
  return [value, turns];
}

describe('a long answer with embeddings', () => {
  it('is parsed as JSON.parse does, also where its server has put other things in places of vectors', async () => {
    await forAllAsync([answer, fc.constantFrom(0, 1)], async (given, indent) => {
      const text = JSON.stringify(given, null, indent);
      expect(await parseEmbeddings(text)).toEqual(JSON.parse(text));
    });
    await expect(parseEmbeddings('{"data":[{"embedding":[1,2}]}')).rejects.toThrow(SyntaxError);
    await expect(parseEmbeddings('{"data":[{"embedding":[1,2')).rejects.toThrow(SyntaxError);
  });

  it('of many vectors in base64 is read once, and not from its beginning for each of them', async () => {
    const embedding = Buffer.alloc(1_536, 1).toString('base64');
    const data = Array.from({ length: 20_000 }, (_, index) => ({ index, embedding }));
    // Read for each of them it takes minutes, and the test does not end.
    const parsed = await parseEmbeddings(JSON.stringify({ data }));
    expect((parsed as { data: unknown[] }).data[19_999]).toEqual(data[19_999]);
  });

  it('lets other answers have their turns, in parsing it and in writing it in another encoding', async () => {
    const embedding = Array.from({ length: 40_000 }, () => 0.25);
    const data = Array.from({ length: 40 }, (_, index) => ({ index, embedding }));
    const text = JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 40 } });
    // Some less than it has megabytes: a piece ends with a vector.
    const pieces = Math.floor(text.length / (2 * LONG));
    const [parsed, turns] = await withTurns(parseEmbeddings(text));
    expect(turns).toBeGreaterThanOrEqual(pieces);
    const ask = (format: string, of: object, given: string): Promise<string> =>
      withEncodingAsked(given, { ...of }, JSON.stringify({ encoding_format: format }));
    const [base64, turnsOfWriting] = await withTurns(ask('base64', parsed as object, text));
    expect(turnsOfWriting).toBeGreaterThanOrEqual(pieces);
    const inBase64 = JSON.parse(base64) as { data: { embedding: unknown }[] };
    expect(inBase64.data[39]!.embedding).toBeTypeOf('string');
    const again = JSON.parse(await ask('float', inBase64, base64)) as object;
    expect(again).toEqual(JSON.parse(text));
    expect(await ask('float', parsed as object, text)).toBe(text);
  });
});
