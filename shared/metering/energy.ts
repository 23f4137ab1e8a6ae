import { ACCELERATOR_W, type AcceleratorReading, type Reading } from './reading.ts';

/** What the accelerators of an endpoint used between two readings. */
export interface MeteredEnergy {
  /** Epoch milliseconds. */
  readonly from: number;
  readonly to: number;
  /** Where each figure comes from: the device's own counter, or its power over time. */
  readonly accelerators: readonly {
    readonly id: string;
    readonly basis: 'energy' | 'power';
    readonly energyUj: bigint;
    readonly labels: AcceleratorReading['labels'];
  }[];
  readonly energyUj: bigint;
}

/** Why what was used between two readings is not known. Nothing is guessed: the estimates of its requests stand. */
export type Unmetered =
  /* the meter was away for too long: what ran when is no longer told apart */
  | 'gap'
  /* a device came or went */
  | 'accelerators_changed'
  /* a counter began anew, and no power was read */
  | 'counter_reset'
  /* no device draws so much, or so little */
  | 'implausible';

/** A counter is exact however long the meter was away; who used it is not. */
const COUNTED_MS_MAX = 300_000;
/** Between readings of power it may have been anything. */
const INTEGRATED_MS_MAX = 30_000;

/**
 * The energy between two readings of one endpoint: from counters where both have them, else the mean of both powers over
 * the time between.
 */
export function energyBetween(before: Reading, after: Reading): MeteredEnergy | Unmetered {
  const ms = after.at - before.at;
  if (ms <= 0 || ms > COUNTED_MS_MAX) return 'gap';
  const ids = Object.keys(before.accelerators);
  const same =
    ids.length === Object.keys(after.accelerators).length &&
    ids.every((id) => Object.hasOwn(after.accelerators, id));
  if (!same) return 'accelerators_changed';
  const accelerators: MeteredEnergy['accelerators'][number][] = [];
  for (const id of ids) {
    const used = usedBy(before.accelerators[id]!, after.accelerators[id]!, ms);
    if (typeof used === 'string') return used;
    const watts = Number(used.energyUj) / ms / 1e3;
    if (watts < ACCELERATOR_W.min || watts > ACCELERATOR_W.max) return 'implausible';
    accelerators.push({ id, ...used, labels: after.accelerators[id]!.labels });
  }
  const energyUj = accelerators.reduce((sum, each) => sum + each.energyUj, 0n);
  return { from: before.at, to: after.at, accelerators, energyUj };
}

function usedBy(
  before: AcceleratorReading,
  after: AcceleratorReading,
  ms: number,
): { basis: 'energy' | 'power'; energyUj: bigint } | Unmetered {
  const counted = before.energyUj !== undefined && after.energyUj !== undefined;
  if (counted && BigInt(after.energyUj) >= BigInt(before.energyUj)) {
    return { basis: 'energy', energyUj: BigInt(after.energyUj) - BigInt(before.energyUj) };
  }
  if (before.powerUw === undefined || after.powerUw === undefined) {
    return counted ? 'counter_reset' : 'accelerators_changed';
  }
  if (ms > INTEGRATED_MS_MAX) return counted ? 'counter_reset' : 'gap';
  const powers = BigInt(before.powerUw) + BigInt(after.powerUw);
  return { basis: 'power', energyUj: (powers * BigInt(ms)) / 2_000n };
}

/**
 * Whether a reading tells anything new: an exporter that samples more slowly than it is read repeats its last figures,
 * and a counter of a device that is on never stands still.
 */
export function isNewer(before: Reading, after: Reading): boolean {
  if (after.at <= before.at) return false;
  return Object.entries(after.accelerators).every(([id, { energyUj }]) => {
    return energyUj === undefined || before.accelerators[id]?.energyUj !== energyUj;
  });
}
