import { Fault } from '#shared/kernel/errors.ts';
import type { Pool } from 'pg';
import { checkHead, checkLink, EMPTY_CHAIN, type ChainHead } from '../audit/chain.ts';
import type { AuditEntry } from '../audit/entry.ts';
import type { Page } from '#shared/kernel/page.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { AuditLog, AuditPageRequest, AuditVerdict } from '../audit/port-audit.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from './audit-append.ts';
import type { AuditHeadRow, AuditRow } from './schema.ts';

/** Entries read at once while a chain is verified: about a megabyte. */
const VERIFY_PAGE = 2_000;

const COLUMNS = `id, org_id, sequence, at, action, actor_kind, actor_id, address, subject,
  reason, details, encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash`;

/** The audit log in PostgreSQL. */
export function createAuditLog(pool: Pool, surroundings: Surroundings): AuditLog {
  return {
    append: (event) => inTransaction(pool, (client) => appendAudit(client, surroundings, event)),
    list: (request) => listEntries(pool, request),
    verify: (orgId) => verifyChains(pool, orgId),
  };
}

async function listEntries(pool: Pool, request: AuditPageRequest): Promise<Page<AuditEntry>> {
  const cursor = await sequenceOf(pool, request);
  const descending = request.order === 'desc';
  // One row more than asked for tells whether there is a next page.
  const { rows } = await pool.query<AuditRow>(
    `select ${COLUMNS} from audit_log
     where org_id = $1
       and ($2::bigint is null or sequence ${descending ? '<' : '>'} $2)
       and ($3::text is null or action = $3)
       and ($4::text is null or actor_id = $4)
     order by sequence ${descending ? 'desc' : 'asc'} limit $5`,
    [request.orgId, cursor, request.action ?? null, request.actor ?? null, request.limit + 1],
  );
  return {
    items: rows.slice(0, request.limit).map(entryOf),
    hasMore: rows.length > request.limit,
  };
}

async function sequenceOf(pool: Pool, request: AuditPageRequest): Promise<number | null> {
  if (request.after === undefined) return null;
  if (!isId('aud', request.after)) throw new Fault('invalid_after');
  const { rows } = await pool.query<{ sequence: string }>(
    'select sequence from audit_log where id = $1 and org_id = $2',
    [request.after, request.orgId],
  );
  const row = rows[0];
  if (row === undefined) throw new Fault('invalid_after');
  return Number(row.sequence);
}

async function* verifyChains(pool: Pool, orgId?: string): AsyncGenerator<AuditVerdict> {
  const { rows: heads } = await pool.query<AuditHeadRow>(
    `select org_id, size, encode(hash, 'hex') as hash from audit_head
     where $1::text is null or org_id = $1 order by org_id`,
    [orgId ?? null],
  );
  for (const head of heads) {
    yield await verifyChain(pool, head.org_id, {
      size: Number(head.size),
      hash: head.hash,
    });
  }
  // A chain whose head row was removed would not be looked at above, yet its entries are there.
  const { rows: headless } = await pool.query<{ org_id: string }>(
    `select distinct org_id from audit_log l
     where not exists (select from audit_head h where h.org_id = l.org_id)
       and ($1::text is null or org_id = $1)`,
    [orgId ?? null],
  );
  for (const row of headless) yield await verifyChain(pool, row.org_id, EMPTY_CHAIN);
}

/** `kept` was read first: entries that are appended meanwhile lie beyond it and are not looked at. */
async function verifyChain(pool: Queryable, orgId: string, kept: ChainHead): Promise<AuditVerdict> {
  let rebuilt: ChainHead = EMPTY_CHAIN;
  const headless = kept.size === 0;
  for (;;) {
    const { rows } = await pool.query<AuditRow>(
      `select ${COLUMNS} from audit_log where org_id = $1 and sequence >= $2
         and ($3 or sequence < $4) order by sequence limit $5`,
      [orgId, rebuilt.size, headless, kept.size, VERIFY_PAGE],
    );
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

function entryOf(row: AuditRow): AuditEntry {
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
    previousHash: row.previous_hash,
    hash: row.hash,
  };
}
