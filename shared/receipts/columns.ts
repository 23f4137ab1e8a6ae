import { type InferenceRecord, ran } from '#shared/kernel/inference.ts';
import type { LedgerKind } from '#shared/ledger/entries.ts';
import type { Measurement, QuantityName } from '#shared/methodology/measurement.ts';
import type { DerivationRecord } from './derivation.ts';

/** What the columns of a receipt are made of. */
interface ColumnSource {
  receiptId: string;
  record: InferenceRecord;
  kind: LedgerKind;
  /** The tier delivered. */
  tier: string;
  /** Epoch milliseconds. */
  issuedAt: number;
  /** Undefined where there is no estimate. */
  measurement: Measurement | undefined;
}

const text = <V extends string | null>(name: string, of: (source: ColumnSource) => V) =>
  ({ name, type: 'text', of }) as const;

/** Null where nothing ran or it is not known: absence is not a zero. */
const tokens = (name: string, count: 'inputTokens' | 'cachedInputTokens' | 'outputTokens') => {
  const of = ({ record: { outcome, usage } }: ColumnSource): number | null =>
    !ran(outcome) || usage.source === 'unknown' ? null : usage[count];
  return { name, type: 'bigint', of } as const;
};

/** Null on a degraded, failed or refused receipt. */
const quantity = (name: string, kind: QuantityName) => {
  const of = ({ measurement }: ColumnSource): number | null =>
    measurement?.results.find((each) => each.name === kind)?.value ?? null;
  return { name, type: 'float8', of } as const;
};

/**
 * What lists and totals need of a receipt, beside its bytes: each column of `ledger_body`, under the name that it has in a
 * row, with the type as which it travels and SQL of what is stored, where that is something else.
 */
export const RECEIPT_COLUMNS = {
  receiptId: text('entry_id', ({ receiptId }) => receiptId),
  orgId: text('org_id', ({ record }) => record.orgId),
  kind: text('kind', ({ kind }) => kind),
  keyId: text('key_id', ({ record }) => record.keyId),
  model: text('model', ({ record }) => record.model),
  region: text('region', ({ record }) => record.region),
  tier: text('tier', ({ tier }) => tier),
  route: text('route', ({ record }): string => record.route),
  outcome: text('outcome', ({ record }): string => record.outcome),
  issuedAt: {
    name: 'issued_at',
    type: 'float8',
    of: ({ issuedAt }: ColumnSource) => issuedAt,
    stored: 'to_timestamp(issued_at / 1000)',
  },
  inputTokens: tokens('input_tokens', 'inputTokens'),
  cachedInputTokens: tokens('cached_input_tokens', 'cachedInputTokens'),
  outputTokens: tokens('output_tokens', 'outputTokens'),
  energy: quantity('energy_kwh', 'energy'),
  gwp: quantity('gwp_kgco2e', 'gwp'),
  water: quantity('water_l', 'water'),
  adpe: quantity('adpe_kgsbe', 'adpe'),
  adpf: quantity('adpf_mj', 'adpf'),
  /** The rule that blocked a refused request, for operators: callers are never told. */
  refusalRule: text('refusal_rule', ({ record }) => record.policy?.rule ?? null),
  /** Of its request, for what is counted by them; a revision has those of what it revises. */
  tags: {
    ...text('tags', ({ record }) => record.tags?.join(',') ?? null),
    stored: "string_to_array(tags, ',')",
  },
  /** By the catalogue's prices, in the currency in which this database counts: what is in another is not counted. */
  cost: {
    ...text('cost', ({ record }) => record.cost ?? null),
    stored:
      "case when cost is not null then (select split_part(cost, ' ', 2)::numeric from currency where code = split_part(cost, ' ', 1)) end",
  },
  /** Lower and upper bounds of the quantities, two by two. */
  bounds: {
    ...text('bounds', ({ measurement }) => (measurement ? boundsOf(measurement) : null)),
    stored: 'bounds::float8[]',
  },
  dataQuality: text('data_quality', ({ measurement }) => measurement?.dataQuality ?? null),
} as const;

export type ReceiptField = keyof typeof RECEIPT_COLUMNS;
export const RECEIPT_FIELDS = Object.keys(RECEIPT_COLUMNS) as ReceiptField[];
type ReceiptColumns = { [F in ReceiptField]: ReturnType<(typeof RECEIPT_COLUMNS)[F]['of']> };

/** The columns of a receipt of this request. */
export function receiptColumns<K extends LedgerKind>(
  source: ColumnSource & { kind: K },
): ReceiptColumns & { kind: K } {
  const values: Record<string, unknown> = {};
  for (const field of RECEIPT_FIELDS) values[field] = RECEIPT_COLUMNS[field].of(source);
  return values as ReceiptColumns & { kind: K };
}

/** In the order of the quantities on a receipt, as PostgreSQL writes an array. */
function boundsOf({ results }: Measurement): string {
  return `{${results.map(({ lower, upper }) => `${lower},${upper}`).join()}}`;
}

/** One signed receipt as it goes into the store: the bytes, and what lists and totals need of them. */
export interface ReceiptRow extends ReceiptColumns {
  kind: 'inference' | 'degraded' | 'failed' | 'refused';
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
