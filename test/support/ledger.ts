import { generateKeyPairSync, hash, sign } from 'node:crypto';
import type { Pool } from 'pg';
import { type IntegrationResult, integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { type PublicationResult, publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { examineLedger, type FsckOptions } from '#cli/fsck/ledger.ts';
import { verifyEd25519 } from '#shared/receipts/signing/key-objects.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { SignatureCheck } from '#shared/ledger/notes.ts';
import type { Finding } from '#cli/fsck/findings.ts';
import type {
  CheckpointMemory,
  CheckpointSigner,
  PublishedHead,
} from '#shared/ledger/checkpoints.ts';
import type { LedgerKind } from '#shared/ledger/entries.ts';

/** A receipt as the ledger sees it: an id, an organisation and some bytes. */
export interface SubmittedReceipt {
  id: string;
  orgId: string;
  kind?: LedgerKind;
  supersedes?: string;
  body: Buffer;
  model?: string;
  region?: string;
  tier?: string;
  key?: string;
  outcome?: string;
  /** The derivation record that it names. */
  derivation?: { digest: string; text: string };
  /** The promised hash; that of the body unless a test lies about it. */
  leafHash?: Buffer;
}

let made = 0;

/** A receipt with bytes that no other has. */
export function makeReceipt(orgId: string, more: Partial<SubmittedReceipt> = {}): SubmittedReceipt {
  made += 1;
  const id = more.id ?? newId('rcpt');
  return { id, orgId, body: Buffer.from(`{"id":"${id}","number":${made}}`), ...more };
}

export function makeReceipts(orgId: string, count: number): SubmittedReceipt[] {
  return Array.from({ length: count }, () => makeReceipt(orgId));
}

/** RFC 6962, for what tests promise. */
export function leafOf(body: Uint8Array): Buffer {
  return hash('sha256', Buffer.concat([Uint8Array.of(0), body]), 'buffer');
}

/** Writes bodies and promises as the receipts worker does. */
export async function submitReceipts(
  pool: Pool,
  receipts: readonly SubmittedReceipt[],
): Promise<void> {
  const column = <T>(of: (receipt: SubmittedReceipt) => T): T[] => receipts.map(of);
  const derivations = new Map(
    receipts.flatMap(({ derivation }) =>
      derivation ? [[derivation.digest, derivation.text]] : [],
    ),
  );
  await pool.query(
    `insert into derivation (digest, body)
     select digest, convert_to(body, 'UTF8') from unnest($1::text[], $2::text[]) as t (digest, body)
     on conflict do nothing`,
    [[...derivations.keys()], [...derivations.values()]],
  );
  await pool.query(
    `with body as (
       insert into ledger_body (entry_id, org_id, kind, supersedes, model, region, tier, issued_at, leaf_hash, body, key_id, outcome)
       select entry_id, org_id, kind, supersedes, model, region, tier, now(), leaf_hash, body, key_id, outcome
       from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bytea[], $9::bytea[], $10::text[], $11::text[])
         as t (entry_id, org_id, kind, supersedes, model, region, tier, leaf_hash, body, key_id, outcome)
       on conflict (entry_id) do nothing
       returning entry_id, org_id, kind, supersedes, leaf_hash)
     insert into receipt_pending (entry_id, org_id, kind, supersedes, leaf_hash) select * from body`,
    [
      column((receipt) => receipt.id),
      column((receipt) => receipt.orgId),
      column((receipt) => receipt.kind ?? 'inference'),
      column((receipt) => receipt.supersedes ?? null),
      column((receipt) => receipt.model ?? null),
      column((receipt) => receipt.region ?? null),
      column((receipt) => receipt.tier ?? null),
      column((receipt) => receipt.leafHash ?? leafOf(receipt.body)),
      column((receipt) => receipt.body),
      column((receipt) => receipt.key ?? null),
      column((receipt) => receipt.outcome ?? null),
    ],
  );
}

/** A key of the test's own. */
export function makeCheckpointSigner(): CheckpointSigner {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { publicKey: raw, sign: (bytes) => sign(null, bytes, privateKey) };
}

/** Remembers in this process: what survives when a test puts an older database back. */
export function makeCheckpointMemory(): CheckpointMemory & { heads: Map<string, PublishedHead> } {
  const heads = new Map<string, PublishedHead>();
  return {
    heads,
    recall: async (orgIds) => new Map([...heads].filter(([orgId]) => orgIds.includes(orgId))),
    remember: async (published) => {
      for (const [orgId, head] of published) {
        const { generation = 1, size = 0 } = heads.get(orgId) ?? {};
        const later = (head.generation ?? 1) - generation;
        if (later > 0 || (later === 0 && head.size >= size)) heads.set(orgId, head);
      }
    },
  };
}

/** The name of a log in tests. */
export const originOf = (orgId: string): string => `gateway.example/log/${orgId}`;

/** Signs the heads of all logs once, by a signer of its own. */
export const publishHeads = (ledger: Pool): Promise<PublicationResult> =>
  publishCheckpoints(ledger, {
    signer: makeCheckpointSigner(),
    memory: makeCheckpointMemory(),
    originOf,
    limit: 10,
    intervalMs: 0,
  });

/** Changes rows that only a superuser can change, with triggers off. `pool` is the owner's. */
export async function tamper(
  pool: Pool,
  statement: string,
  values: unknown[] = [],
): Promise<number> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('set local session_replication_role = replica');
    const { rowCount } = await client.query(statement, values);
    await client.query('commit');
    return rowCount ?? 0;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

/** Integrates until nothing is pending. Returns everything that was quarantined or halted on the way. */
export async function integrateAll(
  pool: Pool,
  limit = 500,
): Promise<Pick<IntegrationResult, 'quarantined' | 'halted'>> {
  const all: Pick<IntegrationResult, 'quarantined' | 'halted'> = { quarantined: [], halted: [] };
  for (;;) {
    const result = await integrateBatch(pool, limit);
    all.quarantined.push(...result.quarantined);
    all.halted.push(...result.halted);
    if (result.claimed === 0) return all;
  }
}

/** Checks signatures of tests' own keys. */
export function checkSignaturesOf(publicKeys: readonly Uint8Array[]): SignatureCheck {
  return { publicKeys, verify: verifyEd25519 };
}

/** Everything that an examination finds. */
export async function collectFindings(pool: Pool, options: FsckOptions): Promise<Finding[]> {
  const findings: Finding[] = [];
  for await (const each of examineLedger(pool, options)) findings.push(each);
  return findings;
}
