import type { CarriedRecord, MeasurementInput } from './measurement.ts';
import { digestOf } from '#shared/kernel/canonical-json.ts';
import type { Recorder, RecordValue, Warning } from './derivation.ts';
import { type FactorIndex, type InputRecord, json } from './factor-index.ts';

type Kind = MeasurementInput['kind'];

/** A figure before its year and sources are looked up: by its column, or by sources of its own. */
export type Figure = Pick<RecordValue, 'symbol' | 'name' | 'value' | 'unit'> & {
  readonly column?: string;
  readonly cites?: readonly string[];
};

/** Collects the inputs of a measurement, and shows each to the recorder if there is one. */
export class InputList {
  readonly inputs: MeasurementInput[] = [];
  readonly #index: FactorIndex;
  readonly #recorder: Recorder | undefined;

  constructor(index: FactorIndex, recorder: Recorder | undefined) {
    this.#index = index;
    this.#recorder = recorder;
  }

  /** A record of the factor set. `figures` are the columns that the computation reads from it. */
  fromSet(kind: Kind, record: InputRecord, figures: () => readonly Figure[]): void {
    const index = this.#index;
    const input = { kind, id: record.id, digest: index.digest(record) };
    this.inputs.push(input);
    if (this.#recorder === undefined) return;
    const cited = 'sources' in record ? record : { sources: [] };
    const values = figures().map(({ symbol, name, value, unit, column = '', cites }) => ({
      symbol,
      name,
      value,
      unit,
      year: 'year' in record ? record.year : index.columnYear(column),
      sources: cites === undefined ? index.columnSources(column, cited) : index.sources(cites),
    }));
    const flags = 'flags' in record ? record.flags : [];
    const warnings: Warning[] = flags.map((code) => ({ code, message: index.meaning(code) }));
    this.#recorder.used({ ...input, record: json(record), carried: false, values, warnings });
  }

  /** A record that the receipt itself has to carry. */
  carried(kind: Kind, id: string, record: CarriedRecord, figures: () => readonly Figure[]): void {
    const input = { kind, id, digest: digestOf(record), record };
    this.inputs.push(input);
    if (this.#recorder === undefined) return;
    const values = figures().map(({ symbol, name, value, unit }) => ({
      symbol,
      name,
      value,
      unit,
      year: 'of this request',
      sources: [],
    }));
    this.#recorder.used({ ...input, carried: true, values, warnings: [] });
  }
}
