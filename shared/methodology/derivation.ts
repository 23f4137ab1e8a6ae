import type { DataQuality, MeasurementInput, Quantity } from './measurement.ts';
import type { JsonObject } from '#shared/kernel/canonical-json.ts';
import type { Bound } from './docket-1-bounds.ts';
import type { Source } from './factor-set.ts';
import { type Formula, symbolsOf } from './formula.ts';

/** One number as it was computed. */
export interface Step {
  readonly symbol: string;
  readonly name: string;
  readonly formula: string;
  readonly value: number;
  readonly unit: string;
  readonly inputs: readonly {
    readonly symbol: string;
    readonly value: number;
    readonly unit: string;
  }[];
}

/** A figure taken from a record. */
export interface RecordValue {
  readonly symbol: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly year: string;
  readonly sources: readonly Source[];
}

/** An input record with everything that is known about it. */
export interface RecordView extends Omit<MeasurementInput, 'record'> {
  readonly record: JsonObject;
  /** True when no factor set holds the record, so that the receipt carries it. */
  readonly carried: boolean;
  readonly values: readonly RecordValue[];
  readonly warnings: readonly Warning[];
}

/** Something a reader of the result should know; `code` is stable. */
export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** How a measurement came about, in full: what the lineage document is made of. */
export interface Derivation {
  readonly methodology: { readonly id: string; readonly version: string; readonly digest: string };
  readonly inputs: readonly RecordView[];
  readonly constants: readonly {
    readonly symbol: string;
    readonly value: number;
    readonly unit: string;
    readonly meaning: string;
    readonly sources: readonly Source[];
  }[];
  readonly steps: readonly Step[];
  readonly bounds: readonly Bound[];
  readonly results: readonly Quantity[];
  readonly dataQuality: DataQuality;
  readonly warnings: readonly Warning[];
}

/** Takes notes while a measurement is computed. The same code runs without one on the path of a receipt. */
export interface Recorder {
  /** A number that came from outside the computation. */
  given(symbol: string, value: number, unit: string): void;
  step(formula: Formula, value: number): void;
  bound(bound: Bound): void;
  used(view: RecordView): void;
  warn(code: string, message: string): void;
}

/** A recorder that keeps everything, in order. */
export class Notebook implements Recorder {
  readonly steps: Step[] = [];
  readonly bounds: Bound[] = [];
  readonly views: RecordView[] = [];
  readonly warnings: Warning[] = [];
  readonly #known = new Map<string, { value: number; unit: string }>();

  given(symbol: string, value: number, unit: string): void {
    this.#known.set(symbol, { value, unit });
  }

  step(formula: Formula, value: number): void {
    const inputs = symbolsOf(formula.formula).map((symbol) => {
      const known = this.#known.get(symbol);
      if (known === undefined)
        throw new Error(`${formula.symbol} reads ${symbol} before it has a value`);
      return { symbol, ...known };
    });
    const { symbol, name, unit } = formula;
    this.steps.push({ symbol, name, formula: formula.formula, value, unit, inputs });
    this.given(symbol, value, unit);
  }

  bound(bound: Bound): void {
    this.bounds.push(bound);
    this.given(`f_${bound.share}`, bound.combined, '1');
  }

  used(view: RecordView): void {
    this.views.push(view);
    this.warnings.push(...view.warnings);
    for (const { symbol, value, unit } of view.values) this.given(symbol, value, unit);
  }

  warn(code: string, message: string): void {
    this.warnings.push({ code, message });
  }
}
