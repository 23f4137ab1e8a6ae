import { type DecimalParts, DecimalSum } from '#shared/kernel/decimal.ts';
import { evaluate } from '#shared/methodology/evaluate.ts';
import type { CountedReceipt } from '#shared/packs/totals.ts';
import { declaredIn, type UsedRecord } from './declared.ts';
import type { DeclaredKind } from './statement.ts';

/**
 * How totals answer to what the operator declares, one input at a time: the formulas of each lineage document are evaluated
 * again with another value, and what its receipts add up to is multiplied by how much the figures of the document changed.
 */

/** The parts of a lineage document that say how its numbers came about. */
export interface ComputedMeasurement {
  used: readonly (UsedRecord & { carried: boolean })[];
  steps: readonly {
    symbol: string;
    formula: string;
    value: string;
    reads: readonly { symbol: string; value: string }[];
  }[];
}

/** Symbols that an input stands for, and by what they are multiplied. What is not known to ten per cent is halved and doubled. */
const CHANGES: Readonly<
  Partial<Record<DeclaredKind, { symbols: readonly string[]; by: readonly [string, number][] }>>
> = {
  batch: { symbols: ['B'], by: halvedAndDoubled() },
  gpus: { symbols: ['n'], by: halvedAndDoubled() },
  pue: { symbols: ['PUE'], by: tenPerCent() },
  size: { symbols: ['P_a', 'P_t'], by: tenPerCent() },
  wue: { symbols: ['WUE'], by: tenPerCent() },
  zone: { symbols: ['F_gwp', 'F_water'], by: tenPerCent() },
};

function tenPerCent(): [string, number][] {
  return [
    ['− 10 %', 0.9],
    ['+ 10 %', 1.1],
  ];
}

function halvedAndDoubled(): [string, number][] {
  return [
    ['halved', 0.5],
    ['doubled', 2],
  ];
}

/** Figures of the formulas: energy, gas of its use and of making hardware, water. */
const FIGURES = ['E', 'U_gwp', 'X_gwp', 'water'] as const;
type Ratios = Readonly<Record<(typeof FIGURES)[number], number>>;

/** What becomes of the figures of one derivation when one input is another. */
interface Answer {
  input: DeclaredKind;
  of: string;
  change: string;
  ratios: Ratios;
}

/** A line of the table: by how much totals of the pack would change, as shares; NaN where the formulas do not say. */
export interface SensitivityRow {
  input: DeclaredKind;
  of: string;
  change: string;
  energy: number;
  gwp: number;
  water: number;
}

interface Sums<T> {
  energy: T;
  gwp: T;
  water: T;
  /** Of the electricity of receipts with the factor of their hour. */
  gasByHour: T;
}

export type SensitivityParts = ReadonlyMap<string, Sums<DecimalParts>>;

/** Bounded by derivations: those without a document are in no answer. */
export class Sensitivity {
  readonly #sums = new Map<string, Sums<DecimalSum>>();
  readonly #answers = new Map<string, { answers: Answer[]; factor: number }>();

  /** Takes a receipt that counts. @param hourFactor that of its hour, where it has one */
  add(derivation: string, { values }: CountedReceipt, hourFactor: string | undefined): void {
    const { energy, gwp, water } = values;
    if (energy === undefined || gwp === undefined || water === undefined) return;
    const sums = this.#of(derivation);
    sums.energy.add(energy.value);
    sums.gwp.add(gwp.value);
    sums.water.add(water.value);
    if (hourFactor !== undefined) sums.gasByHour.addProduct(energy.value, hourFactor);
  }

  parts(): SensitivityParts {
    return new Map(
      [...this.#sums].map(([derivation, { energy, gwp, water, gasByHour }]) => [
        derivation,
        {
          energy: energy.parts(),
          gwp: gwp.parts(),
          water: water.parts(),
          gasByHour: gasByHour.parts(),
        },
      ]),
    );
  }

  merge(parts: SensitivityParts): void {
    for (const [derivation, { energy, gwp, water, gasByHour }] of parts) {
      const sums = this.#of(derivation);
      sums.energy.merge(energy);
      sums.gwp.merge(gwp);
      sums.water.merge(water);
      sums.gasByHour.merge(gasByHour);
    }
  }

  /** Reads how the numbers of a derivation came about. @param factor greenhouse gas of a kilowatt-hour, of the year */
  explain(derivation: string, measurement: ComputedMeasurement, factor: number | undefined): void {
    const answers = answersOf(measurement);
    this.#answers.set(derivation, { answers, factor: factor ?? Number.NaN });
  }

  /** A line for each change, by input and name, against these totals. */
  rows(totals: Readonly<Record<'energy' | 'gwp' | 'water', number>>): SensitivityRow[] {
    const rows = new Map<string, SensitivityRow>();
    const derivations = [...this.#answers].toSorted(([a], [b]) => (a < b ? -1 : 1));
    for (const [derivation, { answers, factor }] of derivations) {
      const sums = this.#sums.get(derivation);
      if (sums === undefined) continue;
      const [energy, gwp, water, gasByHour] = Object.values(sums).map(Number);
      const use = gasByHour === 0 ? energy! * factor : gasByHour!;
      for (const { ratios, ...change } of answers) {
        const key = JSON.stringify(Object.values(change));
        const row = rows.get(key) ?? { ...change, energy: 0, gwp: 0, water: 0 };
        const making = gwp! - use;
        rows.set(key, {
          ...row,
          energy: row.energy + (energy! * (ratios.E - 1)) / totals.energy,
          gwp: row.gwp + (use * (ratios.U_gwp - 1) + making * (ratios.X_gwp - 1)) / totals.gwp,
          water: row.water + (water! * (ratios.water - 1)) / totals.water,
        });
      }
    }
    const place = ({ input, of }: SensitivityRow): string => `${input}\n${of}`;
    return [...rows.values()].toSorted((a, b) =>
      place(a) < place(b) ? -1 : place(a) > place(b) ? 1 : 0,
    );
  }

  #of(derivation: string): Sums<DecimalSum> {
    const known = this.#sums.get(derivation);
    if (known !== undefined) return known;
    const sums = {
      energy: new DecimalSum(),
      gwp: new DecimalSum(),
      water: new DecimalSum(),
      gasByHour: new DecimalSum(),
    };
    this.#sums.set(derivation, sums);
    return sums;
  }
}

function answersOf(measurement: ComputedMeasurement): Answer[] {
  const { used } = measurement;
  const zone = used.find(({ type }) => type.includes('GridFactor'))?.name;
  const declared = [
    ...declaredIn(
      used.map(({ carried, record, ...each }) => (carried ? { ...each, record } : each)),
    ),
    ...(zone === undefined ? [] : [{ input: 'zone' as const, of: zone }]),
  ];
  return declared.flatMap(({ input, of }) => {
    const changes = CHANGES[input];
    if (changes === undefined) return [];
    return changes.by.map(([change, by]): Answer => {
      return { input, of, change, ratios: ratiosWith(measurement, changes.symbols, by) };
    });
  });
}

/** Takes the steps of a document again, those that read what is another now, with the choices that it made. */
function ratiosWith(
  { steps }: ComputedMeasurement,
  symbols: readonly string[],
  by: number,
): Ratios {
  const [changed, stated] = [new Map<string, number>(), new Map<string, number>()];
  for (const { symbol, formula, value, reads } of steps) {
    stated.set(symbol, Number(value));
    // A size that is a range is computed by a step of its own, and is another from there on.
    if (symbols.includes(symbol)) {
      changed.set(symbol, Number(value) * by);
      continue;
    }
    const before = new Map(reads.map((read) => [read.symbol, Number(read.value)]));
    const now = (name: string): number | undefined => {
      const known = before.get(name);
      const isFirst = symbols.includes(name) && known !== undefined;
      return changed.get(name) ?? (isFirst ? known * by : known);
    };
    const isConcerned = reads.some(
      (read) => changed.has(read.symbol) || symbols.includes(read.symbol),
    );
    if (isConcerned) changed.set(symbol, evaluate(formula, now));
  }
  const ratio = (name: string): number => {
    const before = stated.get(name);
    if (before === undefined) return Number.NaN;
    return changed.has(name) ? changed.get(name)! / before : 1;
  };
  return { E: ratio('E'), U_gwp: ratio('U_gwp'), X_gwp: ratio('X_gwp'), water: ratio('water') };
}
