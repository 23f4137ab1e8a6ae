import { hash } from 'node:crypto';
import { expect } from 'vitest';
import { type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import type { Product } from './system.ts';
import { connectTo } from './lanes.ts';
import { until } from './until.ts';

/** A receipt as a client sees it. */
export interface Receipt {
  id: string;
  tier: string;
  explanation?: string;
  proof?: object;
  degradation?: { stage: string; code: string };
  credentialSubject: {
    answerId?: string;
    upstreamAnswerId?: string;
    requestedModel?: string;
    previous?: string;
    outcome?: string;
    inputTokens?: number;
    outputTokens?: number;
    cachedInputTokens?: number;
    usageSource?: string;
    attempts?: number;
    requestDigest?: string;
    responseDigest?: string;
    salt?: string;
    region: string;
    model: string;
  };
  measurement?: {
    dataQuality: string;
    derivation?: string;
    result: { quantityKind: string; value: string }[];
    used: { record: Readonly<Record<string, unknown>> }[];
  };
}

/** The keys that the service publishes, as an auditor would fetch them once. */
async function publishedKeys(system: Product): Promise<TrustedKeys> {
  const response = await fetch(`${system.root}/.well-known/did.json`);
  return trustedKeysOf(await response.text());
}

/** Fails unless the receipt is signed by the service and whole. */
export async function expectSigned(system: Product, receipt: unknown): Promise<void> {
  const keys = await publishedKeys(system);
  const verdict = verifyReceipt(JSON.stringify(receipt), keys, Date.now());
  expect(verdict).toMatchObject({ good: true });
}

/** The receipt by its id, or by that of its answer, once it is issued. */
export async function issuedReceipt({ baseUrl, key }: Product, id: string): Promise<Receipt> {
  let receipt: Receipt | undefined;
  await until(async () => {
    const headers = { authorization: `Bearer ${key}` };
    const response = await fetch(`${baseUrl}/receipts/${id}`, { headers });
    receipt = (await response.json()) as Receipt;
    return response.status === 200 && receipt.proof !== undefined;
  }, 'the receipt is there');
  return receipt!;
}

export const idOf = (receipt: Receipt): string => receipt.id.slice(receipt.id.lastIndexOf('/') + 1);

/** The digest that a receipt states of these bytes. */
export function digestOf(receipt: Receipt, bytes: string | Uint8Array): string {
  const salt = Buffer.from(receipt.credentialSubject.salt!.slice(1), 'base64url');
  const digest = hash('sha256', Buffer.concat([salt, Buffer.from(bytes)]), 'buffer');
  return `u${Buffer.concat([Buffer.from([0x12, 0x20]), digest]).toString('base64url')}`;
}

export interface Tally {
  receipts: number;
  distinct: number;
  pending: number;
  entries: number;
  /** Organisations whose indexes are not exactly 0..n-1. */
  gaps: number;
  /** Logs that have grown beyond their last signed head, and are to be signed. */
  unsigned: number;
}

/** Counts in PostgreSQL: every receipt of the product's organisations, what is still owed to the ledger, and the logs. */
export async function tally({ database, organisations }: Product): Promise<Tally> {
  const { rows } = await database.pool.query<Record<keyof Tally, string>>(
    `
    WITH ours AS (SELECT id FROM account WHERE $1::text[] IS NULL OR id = ANY($1))
    SELECT
      (SELECT count(*) FROM ledger_body WHERE org_id IN (TABLE ours)) AS receipts,
      (SELECT count(DISTINCT entry_id) FROM ledger_body WHERE org_id IN (TABLE ours)) AS distinct,
      (SELECT count(*) FROM receipt_pending WHERE org_id IN (TABLE ours)) AS pending,
      (SELECT count(*) FROM ledger_entry
         WHERE entry_id LIKE 'rcpt\\_%' AND org_id IN (TABLE ours)) AS entries,
      (SELECT count(*) FROM (SELECT org_id FROM ledger_entry WHERE org_id IN (TABLE ours) GROUP BY org_id
         HAVING min(index) <> 0 OR max(index) <> count(*) - 1) AS broken) AS gaps,
      (SELECT count(*) FROM ledger_head WHERE size > checkpoint_size AND halted_at IS NULL
         AND org_id IN (TABLE ours)) AS unsigned`,
    [organisations ?? null],
  );
  const row = rows[0]!;
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, Number(value)]),
  ) as unknown as Tally;
}

/**
 * Waits until every receipt is in the ledger, below a signed head: it can be exported and proven. Of a product that files
 * share, those of answers that have come; else the lanes have to be empty too.
 */
export async function integrated(system: Product): Promise<Tally> {
  const client = connectTo(system.redis.url);
  let last = await tally(system);
  let lanes: Record<string, number> = {};
  try {
    await until(async () => {
      if (system.organisations === undefined) lanes = await lengthsOf(client);
      last = await tally(system);
      const empty = Object.keys(lanes).length === 0;
      return empty && last.pending === 0 && last.entries === last.receipts && last.unsigned === 0;
    }, 'every receipt is in the ledger, below a signed head');
  } catch (error) {
    throw new Error(JSON.stringify({ ...last, lanes }), { cause: error });
  } finally {
    client.disconnect();
  }
  return last;
}

/** Entries on each lane that has any. */
async function lengthsOf(client: ReturnType<typeof connectTo>): Promise<Record<string, number>> {
  const lanes = await client.keys('{s*}:lane:*');
  const lengths = await Promise.all(
    lanes.map(async (lane) => [lane, await client.xlen(lane)] as const),
  );
  return Object.fromEntries(lengths.filter(([, length]) => length > 0));
}
