/** Documents that this release cannot make again, because the methodology or their form is of another one. */
import { hash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { judgeLineage } from '#cli/verify/shard-lineage.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { issued, methodologies } from './samples.ts';

type Loose = ReturnType<typeof JSON.parse>;

const bytes = issued();
const document = JSON.parse(Buffer.from(bytes).toString()) as ReceiptDocument;
const receipt = { bytes, document, log: document.inclusionPromise!.log, index: 7 };
const made = packLineage(methodologies, receipt);
/** A release that has no code for the methodology. */
const without = { ...methodologies, methodology: () => undefined };

const altered = (change: (lineage: Loose) => void): string => {
  const lineage = JSON.parse(made);
  change(lineage);
  return canonicalJson(lineage);
};
const laterContext = (lineage: Loose): void => {
  lineage['@context'] = lineage['@context'].replace(/[0-9a-f]{64}/, hash('sha256', 'later'));
};

describe('a lineage document of another release', () => {
  it('is made again where methodology and form are known', () => {
    expect(judgeLineage(methodologies, made, receipt)).toEqual({
      remade: true,
      context: expect.stringContaining('/contexts/docket-lineage-'),
    });
  });

  it('is compared with what the receipt signs where they are not, and is not said to be made again', () => {
    const verdict = { remade: false, context: expect.any(String) };
    expect(judgeLineage(without, made, receipt)).toEqual(verdict);
    expect(judgeLineage(methodologies, altered(laterContext), receipt)).toEqual(verdict);
  });

  it.each<[string, (lineage: Loose) => void]>([
    ['another receipt', (l) => (l.about.id += 'X')],
    ['another digest of it', (l) => (l.about.digest = l.measurement.used[0].digest)],
    ['another methodology', (l) => (l.measurement.hadPlan.digest = l.about.digest)],
    ['another data quality', (l) => (l.measurement.dataQuality = 'T1')],
    ['another record', (l) => (l.measurement.used[2].record.x = 1)],
    ['no record', (l) => delete l.measurement.used[2].record],
    ['that a record is published', (l) => (l.measurement.used[0].carried = false)],
    ['a record less', (l) => l.measurement.used.pop()],
    ['another result', (l) => (l.measurement.generated[1].upper = '1')],
    ['a result less', (l) => l.measurement.generated.pop()],
    ['no measurement', (l) => delete l.measurement],
    ['a context of something else', (l) => (l['@context'] = 'https://attacker.example/c')],
  ])('that says %s is refused', (_name, change) => {
    const text = altered(change);
    expect(judgeLineage(without, text, receipt).contradiction).toEqual(expect.any(String));
    const both = altered((lineage) => {
      change(lineage);
      if (lineage['@context'].includes('docket-lineage')) laterContext(lineage);
    });
    expect(judgeLineage(methodologies, both, receipt).contradiction).toEqual(expect.any(String));
  });

  it('that is no document at all is refused', () => {
    for (const text of ['', 'null', '[]', '7', '"x"', `${made} `, made.slice(0, -1)]) {
      expect(judgeLineage(without, text, receipt).contradiction).toEqual(expect.any(String));
    }
  });

  it('of a receipt that does not follow from its methodology is refused', () => {
    const { current } = methodologies;
    const other = {
      ...current,
      explain: (input: Parameters<typeof current.explain>[0]) => ({
        ...current.explain(input),
        dataQuality: 'T5' as const,
      }),
    };
    const verdict = judgeLineage({ ...methodologies, methodology: () => other }, made, receipt);
    expect(verdict.contradiction).toMatch(/dataQuality/);
  });
});
