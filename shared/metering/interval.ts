import type { Meter } from '#shared/catalogue/catalogue.ts';
import { canonicalJson, digestOfText } from '#shared/kernel/canonical-json.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { timeText } from '#shared/kernel/time.ts';
import type { Attribution } from './attribution.ts';
import type { MeteredEnergy } from './energy.ts';

/** A record that receipts name by the digest of its canonical JSON, and that operators and their auditors read. */
export interface MeteredRecord {
  /** `uEi…` */
  readonly digest: string;
  readonly text: string;
}

/**
 * What a meter said of an interval, and to whom it was attributed: `idleUj` and the energy of all requests add up to
 * `energyUj`. It holds requests of every organisation, so a salt keeps its digest from being guessed.
 * @param salt 16 random bytes in base64url
 */
export function intervalRecord(
  { endpoint, meter, salt }: { endpoint: string; meter: Meter; salt: string },
  metered: MeteredEnergy,
  { idleUj, shares }: Attribution,
): MeteredRecord {
  return recordOf({
    type: 'MeteredInterval',
    version: 1,
    salt,
    endpoint,
    meter: {
      energyMetric: meter.energyMetric,
      energyUnit: meter.energyUnit,
      powerMetric: meter.powerMetric,
      powerUnit: meter.powerUnit,
      labels: { ...meter.labels },
    },
    from: timeText(metered.from, 'from'),
    to: timeText(metered.to, 'to'),
    accelerators: metered.accelerators.map(({ id, basis, energyUj, labels }) => ({
      id,
      basis,
      energyUj: String(energyUj),
      labels,
    })),
    energyUj: String(metered.energyUj),
    idleUj: String(idleUj),
    requests: shares.map(({ receiptId, weight, energyUj }) => ({
      receipt: receiptId,
      weight: String(weight),
      energyUj: String(energyUj),
    })),
  });
}

/** The interval of a request that ran over several: their records, in order of time. */
export function spanRecord(endpoint: string, digests: readonly string[]): MeteredRecord {
  return recordOf({ type: 'MeteredSpan', version: 1, endpoint, intervals: digests });
}

function recordOf(document: object): MeteredRecord {
  const text = canonicalJson(document);
  return { digest: multihashOf(digestOfText(text)), text };
}
