import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { DataQuality, Measurement, QuantityName } from '#shared/methodology/measurement.ts';
import type { DerivationRecord } from './derivation.ts';

/** What lists and totals need of a receipt, beside its bytes. */
export interface ReceiptColumns {
  receiptId: string;
  orgId: string;
  keyId: string;
  model: string;
  region: string;
  route: string;
  outcome: string;
  /** The rule that blocked a refused request, for operators: callers are never told. Null on every other. */
  refusalRule: string | null;
  /** Epoch milliseconds. */
  issuedAt: number;
  /** Null where nothing ran or it is not known: absence is not a zero. */
  inputTokens: number | null;
  cachedInputTokens: number | null;
  outputTokens: number | null;
  /** kWh, kgCO2e, L, kgSbe, MJ; null on a degraded or refused receipt. */
  energy: number | null;
  gwp: number | null;
  water: number | null;
  adpe: number | null;
  adpf: number | null;
  /** Lower and upper bounds of these, two by two, as PostgreSQL writes an array; null as they are. */
  bounds: string | null;
  dataQuality: DataQuality | null;
}

/** The columns of a receipt of this request. */
export function receiptColumns(
  receiptId: string,
  record: InferenceRecord,
  issuedAt: number,
  measurement: Measurement | undefined,
): ReceiptColumns {
  const { outcome, usage } = record;
  const tokens = outcome === 'refused' || usage.source === 'unknown' ? undefined : usage;
  const value = (name: QuantityName): number | null =>
    measurement?.results.find((quantity) => quantity.name === name)?.value ?? null;
  return {
    receiptId,
    orgId: record.orgId,
    keyId: record.keyId,
    model: record.model,
    region: record.region,
    route: record.route,
    outcome,
    refusalRule: record.policy?.rule ?? null,
    issuedAt,
    inputTokens: tokens?.inputTokens ?? null,
    cachedInputTokens: tokens?.cachedInputTokens ?? null,
    outputTokens: tokens?.outputTokens ?? null,
    energy: value('energy'),
    gwp: value('gwp'),
    water: value('water'),
    adpe: value('adpe'),
    adpf: value('adpf'),
    bounds: measurement === undefined ? null : boundsOf(measurement),
    dataQuality: measurement?.dataQuality ?? null,
  };
}

/** In the order of the quantities on a receipt. */
function boundsOf({ results }: Measurement): string {
  return `{${results.map(({ lower, upper }) => `${lower},${upper}`).join()}}`;
}

/** One signed receipt as it goes into the store: the bytes, and what lists and totals need of them. */
export interface ReceiptRow extends ReceiptColumns {
  kind: 'inference' | 'degraded' | 'refused';
  tier: string;
  /** The exact bytes, as text. */
  text: string;
  /** The derivation record that it names; absent without an estimate. */
  derivation?: DerivationRecord;
  /** Where and when it ran, if a meter counted meanwhile. */
  metered?: MeteredRun;
}

/** A request that ran on accelerators with a meter. */
export interface MeteredRun {
  endpoint: string;
  /** Epoch milliseconds of the call that was answered, and of the last byte of its answer. */
  beganAt: number;
  endedAt: number;
  /** Its tokens, by which energy is shared. */
  weight: number;
}

/** A revision as it goes into the store. */
export interface RevisionRow extends ReceiptColumns {
  kind: 'recalculated' | 'restated';
  /** Id of the receipt that it revises. */
  supersedes: string;
  tier: string;
  /** The exact bytes, as text. */
  text: string;
  /** The derivation record that it names. */
  derivation?: DerivationRecord;
}

/** The store will never take these rows, however often they are offered. Nothing of the batch was written. */
export class UnstorableReceipt extends Error {
  constructor(cause: unknown) {
    super('the store refuses a receipt', { cause });
    this.name = 'UnstorableReceipt';
  }
}
