import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { Measurement, QuantityName } from '#shared/methodology/measurement.ts';

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
  /** Null on a refused request: absence is not a zero. */
  inputTokens: number | null;
  cachedInputTokens: number | null;
  outputTokens: number | null;
  /** kWh, kgCO2e, L, kgSbe, MJ; null on a degraded or refused receipt. */
  energy: number | null;
  gwp: number | null;
  water: number | null;
  adpe: number | null;
  adpf: number | null;
}

/** The columns of a receipt of this request. */
export function receiptColumns(
  receiptId: string,
  record: InferenceRecord,
  issuedAt: number,
  measurement: Measurement | undefined,
): ReceiptColumns {
  const refused = record.outcome === 'refused';
  const value = (name: QuantityName): number | null =>
    measurement?.results.find((quantity) => quantity.name === name)?.value ?? null;
  return {
    receiptId,
    orgId: record.orgId,
    keyId: record.keyId,
    model: record.model,
    region: record.region,
    route: record.route,
    outcome: record.outcome,
    refusalRule: record.policy?.rule ?? null,
    issuedAt,
    inputTokens: refused ? null : record.usage.inputTokens,
    cachedInputTokens: refused ? null : record.usage.cachedInputTokens,
    outputTokens: refused ? null : record.usage.outputTokens,
    energy: value('energy'),
    gwp: value('gwp'),
    water: value('water'),
    adpe: value('adpe'),
    adpf: value('adpf'),
  };
}

/** One signed receipt as it goes into the store: the bytes, and what lists and totals need of them. */
export interface ReceiptRow extends ReceiptColumns {
  kind: 'inference' | 'degraded' | 'refused';
  tier: string;
  /** The exact bytes, as text. */
  text: string;
}

/** A revision as it goes into the store. */
export interface RevisionRow extends ReceiptColumns {
  kind: 'recalculated' | 'restated';
  /** Id of the receipt that it revises. */
  supersedes: string;
  tier: string;
  /** The exact bytes, as text. */
  text: string;
}

/** The store will never take these rows, however often they are offered. Nothing of the batch was written. */
export class UnstorableReceipt extends Error {
  constructor(cause: unknown) {
    super('the store refuses a receipt', { cause });
    this.name = 'UnstorableReceipt';
  }
}
