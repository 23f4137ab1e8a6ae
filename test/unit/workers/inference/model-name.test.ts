import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { modelNamer } from '#workers/inference/model-name.ts';

const named = (model: string, ...texts: string[]): string[] => {
  const name = modelNamer(model);
  return texts.map((text) => name(text, JSON.parse(text)));
};

describe('an answer names the model as the catalogue does', () => {
  it('and keeps every other byte', () => {
    const [one, two] = named(
      'llama',
      '{"id":"c", "model" : "org/M","n":1.0,"choices":[{"delta":{"content":"\\"model\\":\\"org/M\\""}}]}',
      '{"id":"c", "model" : "org/M","n":12345678901234567890,"choices":[]}',
    );
    expect(one).toBe(
      '{"id":"c", "model" : "llama","n":1.0,"choices":[{"delta":{"content":"\\"model\\":\\"org/M\\""}}]}',
    );
    expect(two).toBe('{"id":"c", "model" : "llama","n":12345678901234567890,"choices":[]}');
  });

  it('and is left as it is where it names none, or that one already', () => {
    const texts = ['{"choices":[]}', '{"model":"llama"}'];
    expect(named('llama', ...texts)).toEqual(texts);
  });

  it('whatever the chunks of a stream look like, in any order', () => {
    const chunk = fc.record(
      {
        id: fc.string(),
        model: fc.constantFrom('org/M', 'org/Model', 'llama', 'a"b', ''),
        choices: fc.array(fc.record({ model: fc.string(), text: fc.string() })),
        meta: fc.record({ model: fc.constant('org/M') }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(chunk, fc.boolean())), (chunks) => {
        const texts = chunks.map(([value, turned]) =>
          JSON.stringify(turned ? Object.fromEntries(Object.entries(value).toReversed()) : value),
        );
        const out = named('llama', ...texts).map((text) => JSON.parse(text));
        expect(out).toEqual(
          chunks.map(([value]) => ('model' in value ? { ...value, model: 'llama' } : value)),
        );
      }),
    );
  });
});
