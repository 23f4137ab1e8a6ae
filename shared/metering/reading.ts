import type { Meter } from '#shared/catalogue/catalogue.ts';
import { readExposition, type Sample } from './exposition.ts';

/** What a meter said of one accelerator at a moment. Whole numbers, so that nothing is lost in sums. */
export interface AcceleratorReading {
  /** Energy used since some beginning of its own, in microjoules; absent where the exporter does not count. */
  readonly energyUj?: string;
  /** Power drawn, in microwatts. */
  readonly powerUw?: string;
  /** By which an auditor knows the device. */
  readonly labels: Readonly<Record<string, string>>;
}

/** All accelerators of an endpoint at a moment, by name. */
export interface Reading {
  /** Epoch milliseconds. */
  readonly at: number;
  readonly accelerators: Readonly<Record<string, AcceleratorReading>>;
}

/** Why a reading is none. */
export type ReadingFault = 'no_accelerator' | 'implausible';

/** Microjoules in the units of a counter, microwatts in those of a power. */
const ENERGY_UNITS = { J: 1e6, mJ: 1e3, Wh: 3.6e9, kWh: 3.6e12 } as const;
const POWER_UNITS = { W: 1e6, mW: 1e3, kW: 1e9 } as const;

/** Nothing that is one accelerator draws more, nor less while it is there at all: outside, a unit is mistaken. */
export const ACCELERATOR_W = { min: 1, max: 10_000 } as const;
/** What says which device and machine it is. Others (pod, container) change while it runs. */
const IDENTIFYING = ['UUID', 'gpu', 'device', 'modelName', 'Hostname', 'instance'];
/** A machine has sixteen, a rack some hundreds. */
const ACCELERATORS_MAX = 4_096;

/**
 * Reads what a meter serves. Samples with another label than the catalogue asks for are of other endpoints; two of one
 * device (one for each pod that shares it) are of one counter, and count once.
 * @param at epoch milliseconds at which the text came; a time in the text itself stands in place of it
 */
export function readMeter(meter: Meter, text: string, at: number): Reading | ReadingFault {
  const names = new Set([meter.energyMetric, meter.powerMetric]);
  const samples = readExposition(text, names).filter(({ labels }) => isOf(meter, labels));
  const devices = new Map<string, { energy?: number; power?: number; first: Sample }>();
  for (const sample of samples) {
    const id = deviceOf(sample);
    const device = devices.get(id) ?? { first: sample };
    devices.set(id, device);
    if (sample.name === meter.energyMetric)
      device.energy = Math.max(sample.value * ENERGY_UNITS[meter.energyUnit], device.energy ?? 0);
    else device.power = Math.max(sample.value * POWER_UNITS[meter.powerUnit], device.power ?? 0);
  }
  if (devices.size === 0 || devices.size > ACCELERATORS_MAX) return 'no_accelerator';
  const accelerators: Record<string, AcceleratorReading> = {};
  for (const id of [...devices.keys()].toSorted()) {
    const { energy, power, first } = devices.get(id)!;
    const { min, max } = ACCELERATOR_W;
    if (power !== undefined && (power < min * 1e6 || power > max * 1e6)) return 'implausible';
    if (energy !== undefined && !(energy >= 0 && energy <= Number.MAX_SAFE_INTEGER * 1e6))
      return 'implausible';
    accelerators[id] = {
      ...(energy === undefined ? {} : { energyUj: BigInt(Math.round(energy)).toString() }),
      ...(power === undefined ? {} : { powerUw: BigInt(Math.round(power)).toString() }),
      labels: identifying(first),
    };
  }
  const stated = samples.flatMap(({ at: time }) => time ?? []);
  return { at: stated.length === samples.length ? Math.min(...stated) : at, accelerators };
}

function isOf({ labels: wanted }: Meter, labels: Sample['labels']): boolean {
  return Object.entries(wanted).every(([name, value]) => labels[name] === value);
}

/** A device has one name however many samples tell of it: its UUID, or what else is known of it. */
function deviceOf(sample: Sample): string {
  return sample.labels['UUID'] ?? JSON.stringify(identifying(sample));
}

function identifying({ labels }: Sample): Record<string, string> {
  const known = IDENTIFYING.filter((name) => labels[name] !== undefined && labels[name] !== '');
  return Object.fromEntries(
    known.map((name) => [name, labels[name]!.slice(0, 200).toWellFormed()]),
  );
}
