import type { Outcome } from '#shared/kernel/inference.ts';
import { QUANTITY_UNITS, type QuantityName } from '#shared/methodology/measurement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { TotalsDocument } from './seal-format.ts';
import { type DecimalParts, DecimalSum } from '#shared/kernel/decimal.ts';

/** In the order of a receipt. */
export const QUANTITIES = Object.keys(QUANTITY_UNITS) as QuantityName[];
const ENDS = ['value', 'lower', 'upper'] as const;

/** What totals are divided by, beside the whole. */
export const TOTALS_BY = ['month', 'model', 'region', 'data_quality'] as const;
export type TotalsBy = (typeof TOTALS_BY)[number];

/** What the totals take from one receipt. */
export interface CountedReceipt {
  kind: 'covered' | 'uncovered' | 'failed' | 'refused';
  inputTokens: number;
  cachedInputTokens: number;
  outputTokens: number;
  /** Decimals by quantity; empty unless covered. */
  values: Readonly<Partial<Record<QuantityName, Readonly<Record<(typeof ENDS)[number], string>>>>>;
  /** One for each of `TOTALS_BY`; empty text where it has none. */
  groups: readonly string[];
}

/** Totals in progress as plain data, for handing to another thread. */
interface TotalsParts {
  counts: Readonly<Record<keyof Counts, number>>;
  /** Values and bounds of each quantity. */
  sums: readonly DecimalParts[];
}

interface Counts {
  covered: number;
  uncovered: number;
  failed: number;
  refused: number;
  coveredInputTokens: number;
  coveredCachedInputTokens: number;
  coveredOutputTokens: number;
  uncoveredInputTokens: number;
  uncoveredCachedInputTokens: number;
  uncoveredOutputTokens: number;
}

/** What a receipt contributes when it is the current one of its inference. */
export function countedReceipt(
  document: Pick<ReceiptDocument, 'credentialSubject' | 'measurement'>,
): CountedReceipt {
  const { credentialSubject: subject, measurement } = document;
  const values: Partial<Record<QuantityName, Record<(typeof ENDS)[number], string>>> = {};
  for (const { quantityKind, value, lower, upper } of measurement?.result ?? []) {
    values[quantityKind] = { value, lower, upper };
  }
  return {
    kind: measurement === undefined ? withoutEstimate(subject.outcome) : 'covered',
    inputTokens: subject.inputTokens ?? 0,
    cachedInputTokens: subject.cachedInputTokens ?? 0,
    outputTokens: subject.outputTokens ?? 0,
    values,
    groups: [
      subject.startedAt.slice(0, 7),
      subject.model,
      subject.region,
      measurement?.dataQuality ?? '',
    ],
  };
}

function withoutEstimate(outcome: Outcome): CountedReceipt['kind'] {
  return outcome === 'failed' || outcome === 'refused' ? outcome : 'uncovered';
}

/** Adds up current receipts: exactly, and beside how many could not be added. */
export class Totals {
  readonly counts: Counts = {
    covered: 0,
    uncovered: 0,
    failed: 0,
    refused: 0,
    coveredInputTokens: 0,
    coveredCachedInputTokens: 0,
    coveredOutputTokens: 0,
    uncoveredInputTokens: 0,
    uncoveredCachedInputTokens: 0,
    uncoveredOutputTokens: 0,
  };
  readonly #sums = QUANTITIES.flatMap(() => ENDS.map(() => new DecimalSum()));

  add({ kind, inputTokens, cachedInputTokens, outputTokens, values }: CountedReceipt): void {
    const { counts } = this;
    counts[kind] += 1;
    if (kind === 'uncovered') {
      counts.uncoveredInputTokens += inputTokens;
      counts.uncoveredCachedInputTokens += cachedInputTokens;
      counts.uncoveredOutputTokens += outputTokens;
    }
    if (kind !== 'covered') return;
    counts.coveredInputTokens += inputTokens;
    counts.coveredCachedInputTokens += cachedInputTokens;
    counts.coveredOutputTokens += outputTokens;
    QUANTITIES.forEach((quantity, i) => {
      const value = values[quantity];
      if (value === undefined) return;
      ENDS.forEach((end, j) => this.#sums[i * ENDS.length + j]!.add(value[end]));
    });
  }

  /** How many were added, however their requests ended. */
  get requests(): number {
    const { covered, uncovered, failed, refused } = this.counts;
    return covered + uncovered + failed + refused;
  }

  merge(parts: TotalsParts): void {
    for (const name of Object.keys(this.counts) as (keyof Counts)[]) {
      this.counts[name] += parts.counts[name];
    }
    parts.sums.forEach((sum, i) => this.#sums[i]!.merge(sum));
  }

  parts(): TotalsParts {
    return { counts: { ...this.counts }, sums: this.#sums.map((sum) => sum.parts()) };
  }

  /** Median and bounds: the bounds of a total are the sums of the bounds (docs/methodology.md). */
  amount(quantity: QuantityName): Record<(typeof ENDS)[number], string> {
    const at = QUANTITIES.indexOf(quantity) * ENDS.length;
    const [value, lower, upper] = this.#sums.slice(at, at + ENDS.length).map(String) as [
      string,
      string,
      string,
    ];
    return { value, lower, upper };
  }

  /** As the seal states them. */
  document(): TotalsDocument {
    return {
      ...this.counts,
      result: QUANTITIES.map((quantityKind) => ({
        ...this.amount(quantityKind),
        quantityKind,
        type: 'QuantityValue',
        unit: QUANTITY_UNITS[quantityKind],
      })),
      type: 'PackTotals',
    };
  }
}

/** Plain data, for handing to another thread. */
export type PackTotalsParts = ReadonlyMap<string, TotalsParts>;

/** The totals of a pack: of everything, and by each of `TOTALS_BY`. */
export class PackTotals {
  /** By the groups of the receipts, all of them together: months, models and regions are few. */
  readonly #groups = new Map<string, Totals>();

  add(receipt: CountedReceipt): void {
    this.#group(JSON.stringify(receipt.groups)).add(receipt);
  }

  merge(parts: PackTotalsParts): void {
    for (const [key, each] of parts) this.#group(key).merge(each);
  }

  parts(): PackTotalsParts {
    return new Map([...this.#groups].map(([key, each]) => [key, each.parts()]));
  }

  total(): Totals {
    const total = new Totals();
    for (const each of this.#groups.values()) total.merge(each.parts());
    return total;
  }

  /** In the order of their names' characters. */
  by(dimension: TotalsBy): [name: string, totals: Totals][] {
    const at = TOTALS_BY.indexOf(dimension);
    const found = new Map<string, Totals>();
    for (const [key, each] of this.#groups) {
      const name = (JSON.parse(key) as string[])[at]!;
      const totals = found.get(name) ?? new Totals();
      totals.merge(each.parts());
      found.set(name, totals);
    }
    return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  }

  #group(key: string): Totals {
    let totals = this.#groups.get(key);
    if (totals === undefined) {
      totals = new Totals();
      this.#groups.set(key, totals);
    }
    return totals;
  }
}
