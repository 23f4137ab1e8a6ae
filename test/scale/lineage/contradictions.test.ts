import { digestIn } from '#shared/kernel/multihash.ts';
import { describe, expect, it } from 'vitest';
import type { StepNode } from '#shared/lineage/document.ts';
import { LineageContradiction, type RecordedFacts } from '#shared/lineage/facts.ts';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { lineageOf } from '#shared/lineage/of-receipt.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { request, requests } from '#test/unit/methodology/fixtures.ts';
import { evaluate } from '#test/unit/methodology/formula-evaluator.ts';
import { INPUTS, revision } from '#test/unit/receipts/samples.ts';
import {
  factsOf,
  issued,
  lineage,
  methodologies,
  sha256,
  signer,
} from '#test/unit/lineage/samples.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const contradiction = (bytes: Uint8Array, facts: RecordedFacts): string =>
  thrownBy(LineageContradiction, () => lineageOf(methodologies, bytes, facts))?.path ?? 'none';

/** Of two figures that should be equal; zero equals zero. */
const ratio = (a: number, b: number): number => (a === b ? 1 : a / b);

describe('nothing in a lineage contradicts what the receipt signs', () => {
  it('for any request: every record hashes to its signed digest, every figure is the signed one [evidence.lineage]', () => {
    forAll([requests], { numRuns: runs(60) }, (input) => {
      const bytes = issued(input);
      const receipt = JSON.parse(Buffer.from(bytes).toString()) as ReceiptDocument;
      const document = lineage(bytes);
      const { measurement } = document;
      const whole = wholeMeasurement(receipt.measurement!, methodologies.derivation);
      expect(digestIn(document.about.digest)).toBe(sha256(bytes));
      expect(measurement!.used.map(({ digest, name }) => [digest, name])).toEqual(
        whole.used.map(({ digest, name }) => [digest, name]),
      );
      for (const { digest, record: content } of measurement!.used) {
        expect(digestOf(content)).toBe(digestIn(digest));
      }
      const { constants: _, ...plan } = measurement!.hadPlan;
      expect(plan).toEqual(whole.hadPlan);
      const quantities = measurement!.generated.map(({ type: _type, ...quantity }) => quantity);
      expect(quantities).toEqual(
        receipt.measurement!.result.map(({ type: _type, ...quantity }) => quantity),
      );
      expect(measurement!.dataQuality).toBe(receipt.measurement!.dataQuality);
    });
  });

  it('for any request: every step follows from what it says it read, and ends in the signed results', () => {
    forAll([requests], { numRuns: runs(60) }, (input) => {
      const { measurement } = lineage(issued(input));
      const last = new Map<string, StepNode>();
      for (const step of measurement!.steps) {
        const reads = new Map(
          step.reads.map(({ symbol, value }) => [symbol, Number(value)] as const),
        );
        const again = evaluate(step.formula, reads);
        expect(ratio(again, Number(step.value))).toBeCloseTo(1, 11);
        last.set(step.symbol, step);
      }
      for (const { quantityKind, value, lower, upper } of measurement!.generated) {
        const kind = quantityKind as string;
        const symbol = kind === 'energy' ? 'E' : kind;
        const close = (text: unknown, of: string) =>
          expect(ratio(Number(text), Number(last.get(of)!.value))).toBeCloseTo(1, 10);
        close(value, symbol);
        close(lower, `${kind}_lower`);
        close(upper, `${kind}_upper`);
      }
    });
  });

  it.each<[string, (facts: RecordedFacts) => RecordedFacts]>([
    ['revisions', (facts) => ({ ...facts, chain: [] })],
    ['revisions', (facts) => ({ ...facts, chain: [{ ...facts.chain[0]!, receiptId: 'rcpt_x' }] })],
    ['revisions.digest', (facts) => ({ ...facts, chain: [{ ...facts.chain[0]!, digest: 'x' }] })],
    [
      'wasRevisionOf',
      (facts) => ({
        ...facts,
        chain: [{ ...facts.chain[0]!, receiptId: 'rcpt_x' }, ...facts.chain],
      }),
    ],
    ['ledger.leafIndex', (facts) => ({ ...facts, ledger: { ...facts.ledger!, leafIndex: 7 } })],
    ['ledger.leafIndex', ({ chain }) => ({ chain })],
    [
      'ledger.leafHash',
      (facts) => ({ ...facts, ledger: { ...facts.ledger!, leafHash: new Uint8Array(32) } }),
    ],
    [
      'ledger.log',
      (facts) => ({ ...facts, ledger: { ...facts.ledger!, log: 'elsewhere/log/org_a' } }),
    ],
  ])('a fact about %s that it denies is refused', (path, edit) => {
    const bytes = issued();
    expect(contradiction(bytes, edit(factsOf(bytes)))).toBe(path);
  });

  it('a methodology that computes otherwise, or that was never released, is refused', () => {
    const bytes = issued();
    const other = methodologies.current;
    const lying = {
      ...methodologies,
      methodology: () => ({
        ...other,
        explain: (input: EstimateInput) => ({
          ...other.explain(input),
          dataQuality: 'T1' as const,
        }),
      }),
    };
    expect(() => lineageOf(lying, bytes, factsOf(bytes))).toThrow(LineageContradiction);
    expect(() =>
      lineageOf({ ...methodologies, methodology: () => undefined }, bytes, factsOf(bytes)),
    ).toThrow('never released');
  });

  it('has the chain of revisions, checked against what the receipt says it revises', () => {
    const degraded = Buffer.from(signer.sign(buildReceipt(INPUTS['degraded']!)));
    const original = {
      receiptId: revision.receiptId,
      kind: 'degraded',
      digest: sha256(degraded),
      leafIndex: 41,
    };
    const bytes = issued(request(), { revision: { ...revision, digest: original.digest } });
    const own = {
      receiptId: revision.newReceiptId,
      kind: 'recalculated',
      digest: sha256(bytes),
      leafIndex: 57,
    };
    const facts: RecordedFacts = {
      chain: [original, own],
      ledger: { ...factsOf(bytes).ledger!, leafIndex: 57 },
    };
    const document = lineage(bytes, facts);
    expect(document.revisions).toMatchObject([
      { kind: 'degraded', leafIndex: 41 },
      {
        kind: 'recalculated',
        wasRevisionOf: `https://gateway.example/receipts/${revision.receiptId}`,
      },
    ]);
    for (const [path, wrong] of [
      ['wasRevisionOf.digest', { ...original, digest: 'x' }],
      ['wasRevisionOf.leafIndex', { ...original, leafIndex: 40 }],
      ['wasRevisionOf.id', { ...original, receiptId: 'rcpt_y' }],
    ] as const) {
      expect(contradiction(bytes, { ...facts, chain: [wrong, own] })).toBe(path);
    }
    expect(contradiction(bytes, { ...facts, chain: [own] })).toBe('wasRevisionOf');
  });
});
