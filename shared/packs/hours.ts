import {
  type DecimalParts,
  DecimalSum,
  isDecimal,
  toDecimalString,
} from '#shared/kernel/decimal.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { isOutOfRange, type ZoneYear } from './zone-years.ts';

/** What an estimate that may take the factor of an hour says of it. */
export interface HourUse {
  zone: string;
  /** `2026-11-20`, on which the request began. */
  day: string;
  /** kWh. */
  energy: string;
  /** Undefined where the annual factor was taken. */
  hour: { factor: string; provider: string } | undefined;
}

/** Of receipts of the tier enterprise, and of any other that carries the factor of an hour. */
export function hourUseOf({
  credentialSubject: { startedAt, gridZone },
  measurement,
  tier,
}: Pick<ReceiptDocument, 'credentialSubject' | 'measurement' | 'tier'>): HourUse | undefined {
  const record = measurement?.used.find(({ record: one }) => one['hour'] !== undefined)?.record;
  const energy = measurement?.result.find(({ quantityKind }) => quantityKind === 'energy')?.value;
  const zone = record === undefined ? gridZone : String(record['zone']);
  if (energy === undefined || zone === undefined) return undefined;
  const use = { zone, day: startedAt.slice(0, 10), energy };
  if (record === undefined) return tier === 'enterprise' ? { ...use, hour: undefined } : undefined;
  const factor = record['gwp_kgco2e_per_kwh'];
  // Another figure is none of ours, and is refused where estimates are computed again.
  if (!isDecimal(factor)) return undefined;
  return { ...use, hour: { factor, provider: String(record['provider']) } };
}

/** What receipts with factors of hours add up to in one grid zone, beside those that could have had one. */
export interface ZoneHours {
  zone: string;
  /** Receipts with the factor of their hour, and others of the tier enterprise with the annual one. */
  hourly: number;
  annual: number;
  /** Days of requests with both: their hours were not all there when these receipts were issued, or are not yet. */
  mixedDays: number;
  /** Electricity of those with factors of hours, kWh, and its greenhouse gas by these and by the annual factor, kg. */
  energy: string;
  byHour: string;
  /** Null where no factor set of the pack has the zone. */
  byYear: string | null;
  /** Receipts whose hour is out of the range of the year. */
  outOfRange: number;
  /** Who publishes the hours, by the operator's word; the first in the order of their characters. */
  providers: string[];
}

/** Providers of a zone that are kept; an operator has one or two. */
const PROVIDERS_MAX = 8;

interface ZoneSums {
  hourly: number;
  annual: number;
  energy: DecimalSum;
  gas: DecimalSum;
  /** Receipts by factor. */
  factors: Map<string, number>;
  /** By day: whether it has receipts by hour (1), by year (2), or both (3). */
  days: Map<string, number>;
  providers: string[];
}

/** The same as plain data, for handing to another thread. */
export type HourParts = ReadonlyMap<
  string,
  Omit<ZoneSums, 'energy' | 'gas'> & { energy: DecimalParts; gas: DecimalParts }
>;

/** Adds up, exactly and in any order. Bounded by zones, days and hours. */
export class HourSums {
  readonly #zones = new Map<string, ZoneSums>();

  add({ zone, day, energy, hour }: HourUse): void {
    const sums = this.#of(zone);
    sums.days.set(day, (sums.days.get(day) ?? 0) | (hour === undefined ? 2 : 1));
    if (hour === undefined) {
      sums.annual += 1;
      return;
    }
    sums.hourly += 1;
    sums.energy.add(energy);
    sums.gas.addProduct(energy, hour.factor);
    sums.factors.set(hour.factor, (sums.factors.get(hour.factor) ?? 0) + 1);
    sums.providers = firstOf([...sums.providers, hour.provider]);
  }

  merge(parts: HourParts): void {
    for (const [zone, other] of parts) {
      const sums = this.#of(zone);
      sums.hourly += other.hourly;
      sums.annual += other.annual;
      sums.energy.merge(other.energy);
      sums.gas.merge(other.gas);
      for (const [factor, count] of other.factors)
        sums.factors.set(factor, (sums.factors.get(factor) ?? 0) + count);
      for (const [day, kinds] of other.days) sums.days.set(day, (sums.days.get(day) ?? 0) | kinds);
      sums.providers = firstOf([...sums.providers, ...other.providers]);
    }
  }

  parts(): HourParts {
    const zones = [...this.#zones].map(([zone, sums]) => {
      return [zone, { ...sums, energy: sums.energy.parts(), gas: sums.gas.parts() }] as const;
    });
    return new Map(zones);
  }

  /** Zones with factors of hours, in order. @param years what is known of zones over a year */
  zones(years: ReadonlyMap<string, ZoneYear>): ZoneHours[] {
    return [...this.#zones]
      .filter(([, { hourly }]) => hourly > 0)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([zone, sums]) => {
        const { hourly, annual, energy, gas, factors, days, providers } = sums;
        const year = years.get(zone);
        const out = [...factors].filter(
          ([factor]) => year !== undefined && isOutOfRange(Number(factor), year),
        );
        const byYear = new DecimalSum();
        byYear.addProduct(energy.toString(), year?.gwp ?? '0');
        return {
          zone,
          hourly,
          annual,
          mixedDays: [...days.values()].filter((kinds) => kinds === 3).length,
          energy: twelveDigits(energy),
          byHour: twelveDigits(gas),
          byYear: year === undefined ? null : twelveDigits(byYear),
          outOfRange: out.reduce((sum, [, count]) => sum + count, 0),
          providers,
        };
      });
  }

  #of(zone: string): ZoneSums {
    let sums = this.#zones.get(zone);
    if (sums === undefined) {
      const [energy, gas] = [new DecimalSum(), new DecimalSum()];
      sums = {
        hourly: 0,
        annual: 0,
        energy,
        gas,
        factors: new Map(),
        days: new Map(),
        providers: [],
      };
      this.#zones.set(zone, sums);
    }
    return sums;
  }
}

/** The same whichever came first. */
const firstOf = (providers: readonly string[]): string[] =>
  [...new Set(providers)].toSorted((one, other) => (one < other ? -1 : 1)).slice(0, PROVIDERS_MAX);

const twelveDigits = (sum: DecimalSum): string => toDecimalString(Number(sum.toString()));
