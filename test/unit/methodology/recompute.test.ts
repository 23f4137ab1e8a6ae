import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { recompute, statedForm } from '#shared/methodology/recompute.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type MeasurementInput, MethodologyFailure } from '#shared/methodology/measurement.ts';
import { forAll } from '#test/support/for-all.ts';
import { METHODOLOGY, request, requests } from './fixtures.ts';

describe('a measurement', () => {
  it('is reproduced, character for character, from nothing but the inputs that it names', () => {
    forAll([requests], (input) => {
      const measurement = METHODOLOGY.estimate(input);
      // Through JSON, as a receipt carries them.
      const carried = JSON.parse(JSON.stringify(measurement.inputs)) as MeasurementInput[];
      const { differences } = recompute(
        rebuildInput(carried),
        METHODOLOGY,
        statedForm(measurement),
      );
      expect(differences).toEqual([]);
    });
  });

  it('carries records of text and whole numbers alone, in canonical order, as a receipt demands', () => {
    forAll([requests], (input) => {
      for (const { record = {} } of METHODOLOGY.estimate(input).inputs) {
        expect(JSON.stringify(record)).toBe(canonicalJson(record));
        for (const value of Object.values(record)) {
          expect(typeof value === 'string' || Number.isSafeInteger(value)).toBe(true);
        }
      }
    });
  });

  it('that was altered is told from the original, and where', () => {
    const input = request();
    const stated = statedForm(METHODOLOGY.estimate(input));
    const results = stated.results.map((quantity) =>
      quantity.name === 'gwp' ? { ...quantity, upper: '0.00001' } : quantity,
    );
    const { differences } = recompute(input, METHODOLOGY, { ...stated, results });
    expect(differences).toEqual([
      expect.objectContaining({ path: 'results.gwp.upper', stated: '0.00001' }),
    ]);
  });

  it('whose usage was altered no longer fits its digests', () => {
    const { inputs } = METHODOLOGY.estimate(request());
    const altered = inputs.map((entry) =>
      entry.kind === 'usage' ? { ...entry, record: { ...entry.record, output_tokens: 3 } } : entry,
    );
    const stated = statedForm(METHODOLOGY.estimate(request()));
    const { differences } = recompute(rebuildInput(altered), METHODOLOGY, stated);
    expect(differences.map(({ path }) => path)).toContain('inputs[0].usage.usage');
  });
});

describe('inputs from a stranger', () => {
  it('give an estimate, MalformedData or a MethodologyFailure, with anything in them', () => {
    const { inputs } = METHODOLOGY.estimate(
      request({ model: { id: 'x', footprint: { totalB: 8 } } }),
    );
    const fields = [...new Set(inputs.flatMap(({ record = {} }) => Object.keys(record)))];
    forAll(
      [fc.integer({ min: 0, max: inputs.length - 1 }), fc.constantFrom(...fields), fc.jsonValue()],
      (at, field, value) => {
        const altered = inputs.map((entry, index) =>
          index === at ? { ...entry, record: { ...entry.record, [field]: value } } : entry,
        ) as MeasurementInput[];
        try {
          METHODOLOGY.estimate(rebuildInput(altered));
        } catch (error) {
          expect(error instanceof MalformedData || error instanceof MethodologyFailure).toBe(true);
        }
      },
    );
  });

  it('that lack a record are refused with the record’s name', () => {
    const { inputs } = METHODOLOGY.estimate(request());
    const bare = inputs.map(({ kind, id, digest }) => ({ kind, id, digest }));
    expect(() => rebuildInput(bare)).toThrow(MalformedData);
    expect(() => rebuildInput([])).toThrow(MalformedData);
  });
});
