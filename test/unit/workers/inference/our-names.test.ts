import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { namerOf } from '#workers/inference/our-names.ts';
import { forAll } from '#test/support/for-all.ts';

const named = (model: string, ...texts: string[]): string[] => {
  const name = namerOf({ id: 'ours', model });
  return texts.map((text) => name(text, JSON.parse(text)));
};

describe('an answer has our id, and names the model as the catalogue does', () => {
  it('and keeps every other byte', () => {
    const [one, two] = named(
      'llama',
      '{"id":"c", "model" : "org/M","n":1.0,"choices":[{"delta":{"content":"\\"model\\":\\"org/M\\""}}]}',
      '{"id":"c", "model" : "org/M","n":12345678901234567890,"choices":[]}',
    );
    expect(one).toBe(
      '{"id":"ours", "model" : "llama","n":1.0,"choices":[{"delta":{"content":"\\"model\\":\\"org/M\\""}}]}',
    );
    expect(two).toBe('{"id":"ours", "model" : "llama","n":12345678901234567890,"choices":[]}');
  });

  it('and gets the id that it lacks, and no model', () => {
    const texts = ['{"choices":[]}', '{"model":"llama","id":"ours"}', '{"id":"","model":""}'];
    expect(named('llama', ...texts)).toEqual([
      '{"choices":[],"id":"ours"}',
      texts[1],
      '{"id":"ours","model":"llama"}',
    ]);
  });

  it('and is left without an id where answers of its route have none', () => {
    const name = namerOf({ id: undefined, model: 'llama' });
    expect(name('{"model":"M","data":[]}', { model: 'M', data: [] })).toBe(
      '{"model":"llama","data":[]}',
    );
  });

  it('in chunks of any form and order', () => {
    const chunk = fc.record(
      {
        id: fc.string(),
        model: fc.constantFrom('org/M', 'org/Model', 'llama', 'a"b', ''),
        choices: fc.array(fc.record({ model: fc.string(), text: fc.string() })),
        meta: fc.record({ model: fc.constant('org/M') }),
      },
      { requiredKeys: [] },
    );
    forAll([fc.array(fc.tuple(chunk, fc.boolean()))], (chunks) => {
      const texts = chunks.map(([value, turned]) =>
        JSON.stringify(turned ? Object.fromEntries(Object.entries(value).toReversed()) : value),
      );
      const out = named('llama', ...texts).map((text) => JSON.parse(text));
      expect(out).toEqual(
        chunks.map(([value]) => ({
          ...value,
          id: 'ours',
          ...('model' in value ? { model: 'llama' } : {}),
        })),
      );
    });
  });
});
