import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { ran } from '#shared/kernel/inference.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { orderedJson } from '#shared/kernel/canonical-json.ts';
import { derivationOf, parseDerivation, wholeMeasurement } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import { SOFTWARE } from '#shared/receipts/software.ts';
import { forAll } from '#test/support/for-all.ts';
import { anyInput, INPUTS, issuer, measurement, record } from './samples.ts';

describe('a receipt gives back what it was made of', () => {
  it('any request that ran, so that another receipt of it can be issued years later', () => {
    forAll([anyInput.filter(({ record: { outcome } }) => ran(outcome))], (input) => {
      const { document } = parseReceipt(orderedJson(buildReceipt(input)));
      const { upstreamModel, ...told } = input.record;
      const { statedJoules, ...usage } = told.usage;
      const usable = statedJoules !== undefined && statedJoules >= 0;
      expect(recordOnReceipt(document, told.keyId)).toEqual({
        ...told,
        ...(upstreamModel ? { upstreamModel: document.credentialSubject.modelVersion } : {}),
        usage:
          usable && Number.isFinite(statedJoules)
            ? { ...usage, statedJoules: statedJoules + 0 }
            : usage,
      });
    });
  });

  it('on a degraded receipt with the tier that was asked for, and the joules', () => {
    const { document } = parseReceipt(
      orderedJson(
        buildReceipt({
          ...INPUTS['degraded']!,
          record: { ...record, usage: { ...record.usage, statedJoules: 3.5 } },
        }),
      ),
    );
    expect(document.tier).toBe('degraded');
    const read = recordOnReceipt(document, record.keyId);
    expect(read).toMatchObject({ tier: 'audit_plus', usage: { statedJoules: 3.5 } });
  });

  it('its inputs, with the records that it carries', () => {
    const document = buildReceipt(INPUTS['full']!);
    const { digest, text } = derivationOf(issuer, measurement);
    const whole = wholeMeasurement(document.measurement!, () => parseDerivation(text, digest));
    expect(statedInputs(whole)).toEqual(measurement.inputs);
  });

  it.each(['failed', 'refused'])(
    'but nothing of one that was %s: there is no estimate to make',
    (kind) => {
      const document = buildReceipt(INPUTS[kind]!);
      expect(() => recordOnReceipt(document, record.keyId)).toThrow(
        expect.objectContaining({ code: 'missing_field' }),
      );
    },
  );
});

it('the software that receipts name is this release', () => {
  const manifest = JSON.parse(
    readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
  ) as { name: string; version: string };
  expect(SOFTWARE).toBe(`${manifest.name}/${manifest.version}`);
});
