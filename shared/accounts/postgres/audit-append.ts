import { CHAIN_START, hashEntry } from '../audit/chain.ts';
import type { AuditEntry, AuditEvent } from '../audit/entry.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/**
 * Appends one entry within the caller's transaction, so that an act and its record are one.
 * Locks the organisation's chain until the transaction ends; take this lock last.
 */
export async function appendAudit(
  client: Queryable,
  surroundings: Surroundings,
  event: AuditEvent,
): Promise<AuditEntry> {
  const head = await lockHead(client, event.orgId);
  const unhashed = {
    id: surroundings.newId('aud'),
    orgId: event.orgId,
    sequence: head.size,
    at: surroundings.now(),
    action: event.action,
    actorKind: event.actor.kind,
    actorId: storable(event.actor.id) ?? '',
    address: storable(event.actor.address),
    subject: storable(event.subject),
    reason: storable(event.reason),
    details: JSON.stringify(event.details ?? {}),
    previousHash: head.hash,
  };
  const entry: AuditEntry = { ...unhashed, hash: hashEntry(unhashed) };
  await client.query(
    `insert into audit_log (org_id, sequence, id, at, action, actor_kind, actor_id, address,
       subject, reason, details, previous_hash, hash)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, decode($12, 'hex'), decode($13, 'hex'))`,
    [
      entry.orgId,
      entry.sequence,
      entry.id,
      new Date(entry.at),
      entry.action,
      entry.actorKind,
      entry.actorId,
      entry.address,
      entry.subject,
      entry.reason,
      entry.details,
      entry.previousHash,
      entry.hash,
    ],
  );
  return entry;
}

/** What PostgreSQL would refuse (NUL) or replace (half a surrogate pair) must not be in what is hashed. */
function storable(text: string | undefined): string | null {
  return text?.toWellFormed().replaceAll('\0', '') ?? null;
}

/** Writers of one organisation take turns on this row. */
async function lockHead(client: Queryable, orgId: string): Promise<{ size: number; hash: string }> {
  await client.query(
    `insert into audit_head (org_id, size, hash) values ($1, 0, decode($2, 'hex'))
     on conflict (org_id) do nothing`,
    [orgId, CHAIN_START],
  );
  const { rows } = await client.query<{ size: string; hash: string }>(
    `select size, encode(hash, 'hex') as hash from audit_head where org_id = $1 for update`,
    [orgId],
  );
  const row = rows[0]!;
  return { size: Number(row.size), hash: row.hash };
}
