import { readFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answerTo, profiles } from '#cli/commands/estimate.ts';
import { answerLines } from '#cli/input.ts';
import { runs } from '#test/support/depth.ts';
import { forAll, forAllAsync } from '#test/support/for-all.ts';
import { METHODOLOGIES } from './fixtures.ts';

const all = profiles(METHODOLOGIES);
const docket = all.get('docket-1')!;
const ecologits = all.get('ecologits-0.11.2')!;
const line = { model: 'llama-3.1-8b', input_tokens: 200, output_tokens: 300, zone: 'FRA' };

type Answer = Record<string, unknown> & { error?: { code: string; message: string } };

/** Runs chunks of bytes through the command's stream; gives the parsed lines that came out. */
async function run(chunks: readonly Uint8Array[]): Promise<Answer[]> {
  const written: string[] = [];
  const output = new Writable({
    write: (chunk: Buffer, _, done) => {
      written.push(chunk.toString());
      done();
    },
  });
  await answerLines(Readable.from(chunks), output, (entry) =>
    'problem' in entry
      ? { error: { code: entry.problem, message: '' } }
      : answerTo(entry.value, docket),
  );
  return written
    .join('')
    .split('\n')
    .slice(0, -1)
    .map((text) => JSON.parse(text) as Answer);
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('docket-1 lines', () => {
  it('give the estimate, with bounds, tier, methodology and inputs', () => {
    const answer = answerTo({ id: 'a', ...line }, docket) as Answer;
    expect(answer).toMatchObject({
      id: 'a',
      data_quality: 'T3',
      methodology: { id: 'docket-1', version: '1.0.0' },
      results: [{ name: 'energy', unit: 'kWh', value: answer['energy_kwh'] }, {}, {}, {}, {}],
    });
    expect(answer['warnings']).toContain('batch_assumed');
  });

  it.each([
    ['1.0', '1.0.0'],
    ['1.0.0', '1.0.0'],
  ])('of version %s are estimated by %s', (version, full) => {
    expect(answerTo({ ...line, version }, docket)).toMatchObject({
      methodology: { version: full },
    });
  });

  it.each([
    ['version_unknown', { ...line, version: '9' }],
    ['version_invalid', { ...line, version: 1 }],
    ['field_unknown', { ...line, temperature: 1 }],
    ['field_unknown', { ...line, constructor: 1 }],
    ['input_tokens_missing', { ...line, input_tokens: undefined }],
    ['zone_missing', { model: 'llama-3.1-8b', input_tokens: 1, output_tokens: 1 }],
    ['input_tokens_invalid', { ...line, input_tokens: '200' }],
    ['precision_invalid', { ...line, precision: 'fp3' }],
    ['usage_invalid', { ...line, cached_input_tokens: 201 }],
    ['zone_unknown', { ...line, zone: 'XYZ' }],
    ['model_record_unknown', { ...line, model: 'nobody-knows' }],
    ['model_size_unknown', { ...line, model: undefined }],
    ['site_invalid', { ...line, pue: 0.5 }],
    ['footprint_invalid', { ...line, batch: 0 }],
    ['line_not_an_object', [line]],
    ['line_not_an_object', null],
  ])('%s', (code, value) => {
    const { error } = answerTo(JSON.parse(JSON.stringify(value)), docket) as Answer;
    expect(error?.code).toBe(code);
  });

  it('give a result or an error, with anything in them', () => {
    forAll(
      [fc.dictionary(fc.constantFrom(...Object.keys(line), 'batch', 'pue'), fc.jsonValue())],
      (changes) => {
        const answer = answerTo({ ...line, ...changes }, docket) as Answer;
        expect('error' in answer || Number.isFinite(answer['energy_kwh'])).toBe(true);
      },
    );
  });
});

describe('ecologits-0.11.2 lines', () => {
  it('take and give the field names of the published vectors', () => {
    const { cases } = JSON.parse(
      readFileSync(new URL('../../vectors/ecologits/published.json', import.meta.url), 'utf8'),
    ) as { cases: { inputs: object; expected: object | null }[] };
    for (const { inputs, expected } of cases) {
      const answer = answerTo(inputs, ecologits) as Answer;
      expect(Object.keys(answer)).toEqual(expected === null ? ['error'] : Object.keys(expected));
    }
  });
});

describe('the stream', () => {
  it('gives one line for each, in order; a bad one does not stop the rest', async () => {
    const good = JSON.stringify(line);
    const answers = await run([
      bytes(`${good}\nnot json\n\n[]\n`),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      bytes(`${'x'.repeat(70_000)}\n${good}`),
    ]);
    expect(answers.map(({ error }) => error?.code)).toEqual([
      undefined,
      'line_not_json',
      'line_not_json',
      'line_not_an_object',
      'line_not_utf8',
      'line_too_long',
      undefined,
    ]);
  });

  it('does not care where the bytes are cut', async () => {
    const text = Buffer.from(
      ['é', 'ü'].map((id) => `${JSON.stringify({ id, ...line })}\r\n`).join(''),
    );
    await forAllAsync(
      [fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 6 })],
      { numRuns: runs(50) },
      async (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), text.length];
        const chunks = at.slice(1).map((end, i) => text.subarray(at[i], end));
        const answers = await run(chunks);
        expect(answers.map((answer) => answer['id'])).toEqual(['é', 'ü']);
        expect(answers.every((answer) => answer.error === undefined)).toBe(true);
      },
    );
  });

  it('keeps the input waiting while the output is not read, and ends when the reader goes', async () => {
    let asked = 0;
    const input = Readable.from(
      (function* () {
        for (; asked < 10_000; asked += 1) yield bytes(`${JSON.stringify(line)}\n`);
      })(),
    );
    const waiting: (() => void)[] = [];
    const output = new Writable({
      highWaterMark: 1,
      write: (_, __, done) => void waiting.push(done),
    });
    const done = answerLines(input, output, () => ({}));
    for (let i = 0; i < 100; i += 1) await turn();
    expect(asked).toBeLessThan(200);
    output.destroy(Object.assign(new Error('the reader has gone'), { code: 'EPIPE' }));
    await done;
    expect(waiting).toHaveLength(1);
  });
});
