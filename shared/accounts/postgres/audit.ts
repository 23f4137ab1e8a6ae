import type { Selectable } from 'kysely';
import type { Pool } from 'pg';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  CHAIN_START,
  checkHead,
  checkLink,
  EMPTY_CHAIN,
  hashEntry,
  type AuditVerdict,
  type ChainHead,
} from '../audit/chain.ts';
import {
  AllowanceLost,
  type AuditAction,
  type AuditDetails,
  type AuditEntry,
  type AuditEvent,
  OWN_ORGANISATION,
} from '../audit/entry.ts';

/** Entries read at once while a chain is verified: about a megabyte. */
const VERIFY_PAGE = 2_000;

export interface AuditPageRequest extends PageRequest {
  orgId: string;
  action?: AuditAction;
  /** An actor's id. */
  actor?: string;
  /** The id of the thing acted upon. */
  subject?: string;
  /** Epoch milliseconds, `from` included, `to` excluded. */
  from?: number;
  to?: number;
}

export type AuditLog = ReturnType<typeof createAuditLog>;

/** The append-only record of who did what, in PostgreSQL. */
export function createAuditLog(pool: Pool, surroundings: Surroundings) {
  return {
    /** Appends one entry in its own transaction. Acts that write rows append in theirs (`appendAudit`). */
    append: (event: AuditEvent): Promise<AuditEntry> =>
      inTransaction(pool, (client) => appendAudit(client, surroundings, event)),

    /** Throws `invalid_after` when `after` names no entry of this organisation. */
    list: (request: AuditPageRequest): Promise<Page<AuditEntry>> => listEntries(pool, request),

    /** Rebuilds the chains (all of them, or one) and compares them with their heads. */
    verify: (orgId?: string): AsyncGenerator<AuditVerdict> => verifyChains(pool, orgId),
  };
}

/**
 * Appends one entry within the caller's transaction, so that an act and its record are one.
 * Locks the organisation's chain until the transaction ends; take this lock last.
 *
 * @throws AllowanceLost when what allowed the act was taken away before: an act that waited does not come behind that; a
 * Fault where that was a key, and for a person who works for the service on an organisation that they are a member of
 */
export async function appendAudit(
  client: Queryable,
  surroundings: Surroundings,
  event: AuditEvent,
): Promise<AuditEntry> {
  const head = await lockHead(client, event.orgId);
  await demandAllowance(client, event);
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
    reason: storable(event.reason ?? event.actor.reason),
    details: JSON.stringify(detailsOf(event)),
    previousHash: head.hash,
  };
  const entry: AuditEntry = { ...unhashed, hash: hashEntry(unhashed) };
  await queriesOn(client)
    .insertInto('audit_log')
    .values({
      org_id: entry.orgId,
      sequence: entry.sequence,
      id: entry.id,
      at: new Date(entry.at),
      action: entry.action,
      actor_kind: entry.actorKind,
      actor_id: entry.actorId,
      address: entry.address,
      subject: entry.subject,
      reason: entry.reason,
      details: entry.details,
      previous_hash: Buffer.from(entry.previousHash, 'hex'),
      hash: Buffer.from(entry.hash, 'hex'),
    })
    .execute();
  return entry;
}

const detailsOf = ({ details, actor: { ticket } }: AuditEvent): AuditDetails =>
  ticket === undefined ? (details ?? {}) : { ...details, ticket };

/** Acts by which people change their own part; they have locked it before. */
const ON_ONESELF: readonly AuditAction[] = ['member.removed', 'member.role_changed'];

async function demandAllowance(
  client: Queryable,
  { orgId, action, subject, actor: { kind, id, allowedBy } }: AuditEvent,
): Promise<void> {
  if (kind === 'key') return demandActive(client, id);
  if (allowedBy === undefined || (subject === id && ON_ONESELF.includes(action))) return;
  const db = queriesOn(client);
  if ('member' in allowedBy) {
    const row = await db
      .selectFrom('persons.membership')
      .select('role')
      .where('org_id', '=', orgId)
      .where('person_id', '=', id)
      .executeTakeFirst();
    if (row?.role !== allowedBy.member) throw new AllowanceLost(row === undefined);
    return;
  }
  const rows = await db
    .selectFrom('persons.staff')
    .select('role')
    .where('person_id', '=', id)
    .execute();
  if (!rows.some(({ role }) => allowedBy.staff.includes(role))) throw new AllowanceLost(true);
  const own = await db
    .selectFrom('persons.membership')
    .select('role')
    .where('org_id', '=', orgId)
    .where('person_id', '=', id)
    .executeTakeFirst();
  if (own !== undefined) throw new Fault('invalid_actor', { message: OWN_ORGANISATION });
}

/** Processes know of a revocation within a second, and an act may wait for longer: a key that has leaked makes no other one. */
async function demandActive(client: Queryable, keyId: string): Promise<void> {
  const row = await queriesOn(client)
    .selectFrom('api_key')
    .select('state')
    .where('id', '=', keyId)
    .executeTakeFirst();
  if (row?.state === 'revoked') throw new Fault('revoked_api_key');
  if (row?.state === 'expired') throw new Fault('expired_api_key');
}

/**
 * On one line, as pages and terminals show it. What PostgreSQL refuses (NUL) or replaces (half a surrogate pair) is gone too:
 * the hash covers what is stored.
 */
function storable(text: string | undefined): string | null {
  return text === undefined ? null : printable(text);
}

/** Writers of one organisation take turns on this row. */
async function lockHead(client: Queryable, orgId: string): Promise<ChainHead> {
  const db = queriesOn(client);
  await db
    .insertInto('audit_head')
    .values({ org_id: orgId, size: 0, hash: Buffer.from(CHAIN_START, 'hex') })
    .onConflict((conflict) => conflict.column('org_id').doNothing())
    .execute();
  const row = await db
    .selectFrom('audit_head')
    .selectAll()
    .where('org_id', '=', orgId)
    .forUpdate()
    .executeTakeFirstOrThrow();
  return headOf(row);
}

async function listEntries(pool: Pool, request: AuditPageRequest): Promise<Page<AuditEntry>> {
  const { orgId, action, actor, subject, from, to } = request;
  let query = queriesOn(pool).selectFrom('audit_log').selectAll().where('org_id', '=', orgId);
  if (action !== undefined) query = query.where('action', '=', action);
  if (actor !== undefined) query = query.where('actor_id', '=', actor);
  if (subject !== undefined) query = query.where('subject', '=', subject);
  if (from !== undefined) query = query.where('at', '>=', new Date(from));
  if (to !== undefined) query = query.where('at', '<', new Date(to));
  const after =
    request.after === undefined ? undefined : await sequenceOf(pool, request.after, orgId);
  return pageOf(await keyset(query, 'sequence', { ...request, after }).execute(), request, entryOf);
}

async function sequenceOf(pool: Pool, id: string, orgId: string): Promise<string> {
  if (!isId('aud', id)) throw new Fault('invalid_after');
  const row = await queriesOn(pool)
    .selectFrom('audit_log')
    .select('sequence')
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .executeTakeFirst();
  if (row === undefined) throw new Fault('invalid_after');
  return row.sequence;
}

async function* verifyChains(pool: Pool, orgId?: string): AsyncGenerator<AuditVerdict> {
  const db = queriesOn(pool);
  let heads = db.selectFrom('audit_head').selectAll().orderBy('org_id');
  // A chain whose head row was removed would not be looked at by its head, yet its entries are there.
  let headless = db
    .selectFrom('audit_log as l')
    .select('l.org_id')
    .distinct()
    .leftJoin('audit_head as h', 'h.org_id', 'l.org_id')
    .where('h.org_id', 'is', null);
  if (orgId !== undefined) {
    heads = heads.where('org_id', '=', orgId);
    headless = headless.where('l.org_id', '=', orgId);
  }
  for (const row of await heads.execute()) yield await verifyChain(pool, row.org_id, headOf(row));
  for (const row of await headless.execute())
    yield await verifyChain(pool, row.org_id, EMPTY_CHAIN);
}

/** `kept` was read first: entries that are appended meanwhile lie beyond it and are not looked at. */
async function verifyChain(pool: Pool, orgId: string, kept: ChainHead): Promise<AuditVerdict> {
  let rebuilt: ChainHead = EMPTY_CHAIN;
  let entries = queriesOn(pool)
    .selectFrom('audit_log')
    .selectAll()
    .where('org_id', '=', orgId)
    .orderBy('sequence')
    .limit(VERIFY_PAGE);
  if (kept.size > 0) entries = entries.where('sequence', '<', String(kept.size));
  for (;;) {
    const rows = await entries.where('sequence', '>=', String(rebuilt.size)).execute();
    for (const row of rows) {
      const entry = entryOf(row);
      const fault = checkLink(rebuilt, entry);
      if (fault !== null) return { orgId, ...rebuilt, fault };
      rebuilt = { size: entry.sequence + 1, hash: entry.hash };
    }
    if (rows.length < VERIFY_PAGE) break;
  }
  return { orgId, ...rebuilt, fault: checkHead(rebuilt, kept) };
}

function headOf(row: Selectable<Database['audit_head']>): ChainHead {
  return { size: Number(row.size), hash: row.hash.toString('hex') };
}

function entryOf(row: Selectable<Database['audit_log']>): AuditEntry {
  return {
    id: row.id,
    orgId: row.org_id,
    sequence: Number(row.sequence),
    at: row.at.getTime(),
    action: row.action,
    actorKind: row.actor_kind,
    actorId: row.actor_id,
    address: row.address,
    subject: row.subject,
    reason: row.reason,
    details: row.details,
    previousHash: row.previous_hash.toString('hex'),
    hash: row.hash.toString('hex'),
  };
}
