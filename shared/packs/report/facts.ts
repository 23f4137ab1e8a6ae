import { type DecimalParts, DecimalSum } from '#shared/kernel/decimal.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { DerivationDocument } from '#shared/receipts/derivation.ts';
import type { RevisionReason } from '#shared/receipts/format-1.ts';
import { type HourParts, HourSums, type HourUse, hourUseOf } from '#shared/packs/hours.ts';
import { type CountedReceipt, Totals, TOTALS_BY } from '#shared/packs/totals.ts';
import { type DeclaredInput, declaredIn, distinct } from './declared.ts';
import { type ComputedMeasurement, Sensitivity, type SensitivityParts } from './sensitivity.ts';

/** A figure of a record that receipts of the pack were computed from. */
export interface ReportFactor {
  record: string;
  name: string;
  value: string;
  unit: string;
  year: string;
  sources: string[];
  /** Of a figure that is from no source: whether the operator states it, or the methodology assumes it. */
  basis?: 'declared' | 'assumed';
}

/** What a source is called, and under which licence it is used. */
interface Source {
  /** As figures cite it. */
  name: string;
  title: string;
  licence: string;
}

/** The parts of a lineage document that the report shows. */
interface LineageDocument {
  bibliography: { id: string; name: string; text: string; license?: string }[];
  measurement: Pick<ComputedMeasurement, 'steps'> & {
    hadPlan: { name: string; version: string };
    used: {
      name: string;
      type: string[];
      carried: boolean;
      record: Readonly<Record<string, unknown>>;
      figures: {
        name: string;
        symbol: string;
        unit: string;
        value: string;
        year: string;
        sources: string[];
      }[];
    }[];
  };
}

/** More figures of records than a page can show; all of them are in the lineage documents. */
const FACTORS_MAX = 200;

/** What the report takes from one entry of a pack. */
export interface ReportedEntry {
  counted: CountedReceipt;
  /** Why it revises the receipt before it; undefined on a first receipt. */
  revised: RevisionReason | undefined;
  /** What failed, where there is no estimate. */
  degraded: string | undefined;
  /** The key of how its numbers came about, where it states any. */
  derivation: string | undefined;
  /** Where it may have the factor of an hour. */
  hours: HourUse | undefined;
  /** Of the grid, in which its region is declared to be. */
  zone: string | undefined;
}

/** @param derivation the key of how its numbers came about */
export function reportedEntry(
  document: ReceiptDocument,
  counted: CountedReceipt,
  derivation: string | undefined,
): ReportedEntry {
  const { revisionReason: revised, degradation } = document;
  const hours = hourUseOf(document);
  const { gridZone: zone } = document.credentialSubject;
  return { counted, revised, degraded: degradation?.code, derivation, hours, zone };
}

/** Facts of entries as plain data, for handing to another thread. */
export interface ReportParts {
  first: ReturnType<Totals['parts']>;
  uncovered: ReadonlyMap<string, number>;
  energy: ReadonlyMap<string, ReadonlyMap<string, DecimalParts>>;
  hours: HourParts;
  sensitivity: SensitivityParts;
  zones: ReadonlySet<string>;
}

/** What the report says beside the totals, collected as receipts pass: bounded by models, regions and reasons. */
export class ReportFacts {
  /** What first receipts state, before anything was revised. */
  readonly first = new Totals();
  /** Revisions of the pack by why they were made. */
  readonly revised = new Map<RevisionReason, number>();
  /** Uncovered requests by what failed. */
  readonly uncovered = new Map<string, number>();
  readonly factors = new Map<string, ReportFactor>();
  readonly sources = new Map<string, Source>();
  readonly methodologies = new Set<string>();
  /** Whether receipts carry grid factors of single hours. */
  hourly = false;
  factorsLeftOut = 0;
  /** What receipts that count say of factors of hours. */
  readonly hours = new HourSums();
  /** How totals answer to what is declared. */
  readonly sensitivity = new Sensitivity();
  /** What derivation records say was declared. */
  readonly #declared: DeclaredInput[] = [];
  /** Regions of counted receipts with the grid zone of each, a line break between. */
  readonly #zones = new Set<string>();
  /** Energy of counted receipts, by region and by derivation, or by the factor of its hour with an `@` before it. */
  readonly #energy = new Map<string, Map<string, DecimalSum>>();
  /** By derivation: greenhouse gas of a kilowatt-hour where it is one figure. */
  readonly #gasOfKwh = new Map<string, number>();

  /** Takes the next receipt. @param counts whether it is the current one of an inference of the range */
  take(entry: ReportedEntry, counts: boolean): void {
    const { counted, revised, degraded, derivation, hours, zone } = entry;
    if (revised === undefined) this.first.add(counted);
    else add(this.revised, revised);
    if (!counts) return;
    if (degraded !== undefined) add(this.uncovered, degraded);
    if (hours !== undefined) this.hours.add(hours);
    const energy = counted.values.energy?.value;
    if (derivation === undefined || energy === undefined) return;
    const region = counted.groups[REGION]!;
    const factor = hours?.hour === undefined ? derivation : `@${hours.hour.factor}`;
    this.#energyOf(region, factor).add(energy);
    this.sensitivity.add(derivation, counted, hours?.hour?.factor);
    if (zone !== undefined) this.#zones.add(`${region}\n${zone}`);
  }

  /** What receipts have shown so far; none of them revised another. */
  parts(): ReportParts {
    const energy = [...this.#energy].map(([region, sums]) => {
      const parts = [...sums].map(([derivation, sum]) => [derivation, sum.parts()] as const);
      return [region, new Map(parts)] as const;
    });
    return {
      first: this.first.parts(),
      uncovered: this.uncovered,
      energy: new Map(energy),
      hours: this.hours.parts(),
      sensitivity: this.sensitivity.parts(),
      zones: this.#zones,
    };
  }

  merge({ first, uncovered, energy, hours, sensitivity, zones }: ReportParts): void {
    this.first.merge(first);
    this.hours.merge(hours);
    this.sensitivity.merge(sensitivity);
    for (const each of zones) this.#zones.add(each);
    for (const [code, number] of uncovered) add(this.uncovered, code, number);
    for (const [region, sums] of energy) {
      for (const [derivation, sum] of sums) this.#energyOf(region, derivation).merge(sum);
    }
  }

  #energyOf(region: string, derivation: string): DecimalSum {
    const ofRegion = this.#energy.get(region) ?? new Map<string, DecimalSum>();
    this.#energy.set(region, ofRegion);
    const sum = ofRegion.get(derivation) ?? new DecimalSum();
    ofRegion.set(derivation, sum);
    return sum;
  }

  /** Reads what the lineage document of a derivation says of records and sources. */
  explain(derivation: string, text: string): void {
    const { bibliography, measurement } = JSON.parse(text) as LineageDocument;
    this.methodologies.add(`${measurement.hadPlan.name} ${measurement.hadPlan.version}`);
    for (const source of bibliography) {
      const { id, name, text: title, license: licence = 'not stated' } = source;
      this.sources.set(id, { name, title, licence });
    }
    const gas = measurement.used
      .filter(({ type }) => type.includes('GridFactor'))
      .flatMap(({ figures }) => figures.filter(({ symbol }) => symbol === 'F_gwp'));
    // The factor of an hour is another one for each receipt, which carries it.
    if (gas.length === 1) this.#gasOfKwh.set(derivation, Number(gas[0]!.value));
    this.sensitivity.explain(derivation, measurement, this.#gasOfKwh.get(derivation));
    for (const { name: record, type, carried, figures, record: content } of measurement.used) {
      // What a request carries is its own.
      if (type.includes('UsageRecord')) continue;
      if (carried && type.includes('GridFactor')) {
        this.hourly = true;
        continue;
      }
      const isAssumed = content['batch_basis'] === 'assumed';
      const basis = carried ? ({ basis: isAssumed ? 'assumed' : 'declared' } as const) : {};
      for (const { name, value, unit, year, sources } of figures) {
        const key = `${record} ${name} ${value}`;
        if (this.factors.has(key)) continue;
        if (this.factors.size === FACTORS_MAX) this.factorsLeftOut += 1;
        else this.factors.set(key, { record, name, value, unit, year, sources, ...basis });
      }
    }
  }

  /** Takes a derivation record of the pack. All of them say what was declared; lineage documents have a bound. */
  declare({ inputs }: DerivationDocument): void {
    this.#declared.push(...declaredIn(inputs));
  }

  /** What estimates of the pack take from the word of the operator, by kind and name. */
  declared(): DeclaredInput[] {
    const zones = [...this.#zones].map((each): DeclaredInput => {
      const [of = '', value = ''] = each.split('\n');
      return { input: 'zone', of, value };
    });
    return distinct([...this.#declared, ...zones]);
  }

  /**
   * Greenhouse gas of the electricity alone, in kg, of one region or of all; null where a derivation has no document. It is added up in the order of names, so that every reader who adds it up comes to the same last bit.
   */
  useGas(region?: string): number | null {
    let sum = 0;
    for (const [name, ofRegion] of [...this.#energy].toSorted(byName)) {
      if (region !== undefined && name !== region) continue;
      for (const [derivation, energy] of [...ofRegion].toSorted(byName)) {
        const factor = derivation.startsWith('@')
          ? Number(derivation.slice(1))
          : this.#gasOfKwh.get(derivation);
        if (factor === undefined) return null;
        sum += Number(energy.toString()) * factor;
      }
    }
    return sum;
  }
}

const REGION = TOTALS_BY.indexOf('region');

const byName = ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
  one < other ? -1 : 1;

function add<N>(counts: Map<N, number>, name: N, number = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + number);
}
