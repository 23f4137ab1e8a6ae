import { QUANTITY_UNITS, type QuantityName } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { TotalsDocument } from './seal-format.ts';
import { type DecimalParts, DecimalSum } from '#shared/kernel/decimal.ts';

/** In the order of a receipt. */
export const QUANTITIES = Object.keys(QUANTITY_UNITS) as QuantityName[];

/** What the totals take from one receipt. */
export interface CountedReceipt {
  kind: 'covered' | 'uncovered' | 'refused';
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  /** Decimals by quantity; empty unless covered. */
  values: Readonly<Partial<Record<QuantityName, string>>>;
}

/** Totals in progress as plain data, for handing to another thread. */
export interface TotalsParts {
  counts: Readonly<Record<keyof Counts, number>>;
  sums: readonly DecimalParts[];
}

interface Counts {
  covered: number;
  uncovered: number;
  refused: number;
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
}

/** What a receipt contributes when it is the current one of its inference. */
export function countedReceipt(
  document: Pick<ReceiptDocument, 'credentialSubject' | 'measurement' | 'degradation'>,
): CountedReceipt {
  const { credentialSubject: subject, measurement, degradation } = document;
  const values: Partial<Record<QuantityName, string>> = {};
  for (const { quantityKind, value } of measurement?.result ?? []) values[quantityKind] = value;
  return {
    kind: measurement === undefined ? (degradation ? 'uncovered' : 'refused') : 'covered',
    inputTokens: subject.inputTokens ?? 0,
    cachedInputTokens: subject.cachedInputTokens ?? 0,
    outputTokens: subject.outputTokens ?? 0,
    values,
  };
}

/** Adds up the current receipts of a pack: exactly, and beside how many could not be added. */
export class PackTotals {
  readonly #counts: Counts = {
    covered: 0,
    uncovered: 0,
    refused: 0,
    inputTokens: 0,
    cachedInputTokens: 0,
    outputTokens: 0,
  };
  readonly #sums = QUANTITIES.map(() => new DecimalSum());

  add(receipt: CountedReceipt): void {
    this.#counts[receipt.kind] += 1;
    if (receipt.kind !== 'covered') return;
    this.#counts.inputTokens += receipt.inputTokens;
    this.#counts.cachedInputTokens += receipt.cachedInputTokens;
    this.#counts.outputTokens += receipt.outputTokens;
    QUANTITIES.forEach((quantity, i) => {
      const value = receipt.values[quantity];
      if (value !== undefined) this.#sums[i]!.add(value);
    });
  }

  merge(parts: TotalsParts): void {
    for (const name of Object.keys(this.#counts) as (keyof Counts)[]) {
      this.#counts[name] += parts.counts[name];
    }
    parts.sums.forEach((sum, i) => this.#sums[i]!.merge(sum));
  }

  parts(): TotalsParts {
    return { counts: { ...this.#counts }, sums: this.#sums.map((sum) => sum.parts()) };
  }

  document(): TotalsDocument {
    return {
      ...this.#counts,
      result: QUANTITIES.map((quantityKind, i) => ({
        quantityKind,
        type: 'QuantityValue',
        unit: QUANTITY_UNITS[quantityKind],
        value: this.#sums[i]!.toString(),
      })),
      type: 'PackTotals',
    };
  }
}
