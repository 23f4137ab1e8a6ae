import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS, issuer, measurement, record, SIGNED_AT } from './samples.ts';

const full = INPUTS['full']!;

describe('what cannot stand on a receipt is refused where it is built', () => {
  const withUsage = (usage: object) => ({
    ...full,
    record: { ...record, usage: { ...record.usage, ...usage } },
  });
  const withEnergy = (energy: object) => ({
    ...full,
    estimate: {
      measurement: { ...measurement, results: [{ ...measurement.results[0]!, ...energy }] },
    },
  });
  it.each([
    ['a fraction of a token', withUsage({ inputTokens: 1.5 }), 'not_an_integer'],
    ['fewer than no tokens', withUsage({ outputTokens: -1 }), 'not_an_integer'],
    ['tokens beyond 2^53', withUsage({ outputTokens: 2 ** 53 }), 'not_an_integer'],
    ['a time that is none', { ...full, signedAt: Number.NaN }, 'wrong_value'],
    ['a year of five digits', { ...full, signedAt: 253_402_300_800_000 }, 'wrong_value'],
    [
      'a digest of another length',
      { ...full, record: { ...record, requestDigest: 'AAAA' } },
      'wrong_value',
    ],
    [
      'a digest of other characters',
      { ...full, record: { ...record, requestDigest: '!'.repeat(43) } },
      'wrong_value',
    ],
    ['a salt of another length', { ...full, record: { ...record, salt: 'AAAA' } }, 'wrong_value'],
    ['an infinite footprint', withEnergy({ upper: Infinity }), 'wrong_value'],
    ['a negative footprint', withEnergy({ lower: -1 }), 'wrong_value'],
    ['a footprint smaller than any', withEnergy({ lower: 1e-31 }), 'wrong_value'],
    ['the smallest number there is', withEnergy({ lower: Number.MIN_VALUE }), 'wrong_value'],
    ['a footprint larger than any', withEnergy({ upper: 1e31 }), 'wrong_value'],
    ['a footprint that is no number', withEnergy({ value: Number.NaN }), 'contradiction'],
    ['a value outside its bounds', withEnergy({ value: 1 }), 'contradiction'],
    ['an energy in litres', withEnergy({ unit: 'L' }), 'wrong_value'],
    [
      'an estimate of a refusal',
      { ...full, record: { ...record, outcome: 'refused' } },
      'contradiction',
    ],
    [
      'an estimate of a failure',
      { ...full, record: { ...record, outcome: 'failed', failure: 'upstream_error' } },
      'contradiction',
    ],
    [
      'a failure that does not say why',
      { issuer, record: { ...record, outcome: 'failed' }, signedAt: SIGNED_AT },
      'contradiction',
    ],
    [
      'why an answer failed',
      { ...full, record: { ...record, failure: 'upstream_error' } },
      'contradiction',
    ],
    ['no estimate of an answer', { issuer, record, signedAt: SIGNED_AT }, 'contradiction'],
    [
      'a refusal without its policy',
      { issuer, record: { ...record, outcome: 'refused' }, signedAt: SIGNED_AT },
      'missing_field',
    ],
  ])('%s', (_, input, code) => {
    expect(() => buildReceipt(input as typeof full)).toThrow(
      expect.objectContaining({ name: 'MalformedData', code }),
    );
  });
});
