import type { Pool, PoolClient } from 'pg';
import { queryRow, queryRows, execute, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { CheckpointMemory, CheckpointSigner } from '../checkpoints.ts';
import { type Hash, sameHash } from '../hashing.ts';
import { outsideOf } from '../losses.ts';
import { auditLogOf, treeOrigin } from '../origins.ts';
import { type PublicationResult, signedNote } from './checkpoints.ts';
import { newestLosses } from './losses.ts';

export interface AuditPublisherOptions {
  signer: CheckpointSigner;
  memory: CheckpointMemory;
  /** Name of an audit log, which that of its key is made from: `<host>/audit/<organisation>`. */
  originOf: (orgId: string) => string;
  /** Audit logs per call; the rest follow with the next. */
  limit: number;
}

/** A chain that has grown since its head was signed last. */
interface DueChain {
  orgId: string;
  logId: string;
  size: number;
  hash: Hash;
  signed: { size: number; root: Hash } | undefined;
}

/** With the tree that its next head is of, and the name of that. */
type NamedChain = DueChain & { generation: number; origin: string };

const NOTHING: PublicationResult = { signed: [], halted: [] };

/**
 * Signs the heads of audit logs that have grown. Before that it follows the links of the entries from what was signed
 * before, in here and outside of the database: a chain that was put back or written anew is not signed, and is named
 * among those that are halted, each time, until it continues what was signed.
 */
export async function publishAuditHeads(
  pool: Pool,
  options: AuditPublisherOptions,
): Promise<PublicationResult> {
  // Most looks find nothing, and one statement says so.
  if ((await queryRow(pool, DUE_CHAINS, [1])) === undefined) return NOTHING;
  return inTransaction(pool, async (client) => {
    if (!(await queryRow(client, TAKE_TURN))!.taken) return NOTHING;
    const due = await dueChains(client, options.limit);
    const logIds = due.map(({ logId }) => logId);
    const losses = await newestLosses(client, logIds);
    const remembered = await options.memory.recall(logIds);
    const halted: PublicationResult['halted'] = [];
    const good: NamedChain[] = [];
    for (const chain of due) {
      const loss = losses.get(chain.logId);
      const outside = outsideOf(remembered.get(chain.logId), loss);
      const reason =
        outside.contradiction ??
        (await contradiction(client, chain, chain.signed ?? NONE)) ??
        (outside.head === null ? null : await contradiction(client, chain, outside.head));
      const generation = loss?.generation ?? 1;
      const origin = treeOrigin(options.originOf(chain.orgId), generation);
      if (reason === null) good.push({ ...chain, generation, origin });
      else halted.push({ orgId: chain.logId, reason });
    }
    await sign(client, good, options);
    return { signed: good.map(({ logId, size }) => ({ orgId: logId, size })), halted };
  });
}

/** One worker signs at a time; another finds nothing to do then. */
const TAKE_TURN = statement(
  { taken: 'bool' },
  `select pg_try_advisory_xact_lock(hashtextextended('audit_checkpoint', 0)) as taken`,
);

const AWAIT_TURN = statement(
  { waited: 'text?' },
  `select pg_advisory_xact_lock(hashtextextended('audit_checkpoint', 0))::text as waited`,
);

/** Keeps every worker from signing heads of audit logs until the transaction ends. */
export async function holdAuditHeads(client: Queryable): Promise<void> {
  await queryRow(client, AWAIT_TURN);
}

const DUE_CHAINS = statement(
  { org_id: 'text', size: 'int8', hash: 'bytea', signed_size: 'int8?', signed_hash: 'bytea?' },
  `select h.org_id, h.size, h.hash, c.size as signed_size, c.hash as signed_hash from audit_head h
   left join lateral (
     select c.size, c.hash from audit_checkpoint c where c.log_id = 'audit/' || h.org_id
     order by c.size desc limit 1) c on true
   where h.size > coalesce(c.size, 0) or c.size > h.size order by h.org_id limit $1`,
);

async function dueChains(client: Queryable, limit: number): Promise<DueChain[]> {
  const rows = await queryRows(client, DUE_CHAINS, [limit]);
  return rows.map(({ org_id: orgId, size, hash, signed_size: signedSize, signed_hash: root }) => ({
    orgId,
    logId: auditLogOf(orgId),
    size: Number(size),
    hash,
    signed: root === null ? undefined : { size: Number(signedSize), root },
  }));
}

/** What was signed of a chain that is new: its first entry has 64 zeros for a predecessor. */
const NONE = { size: 0, root: new Uint8Array(32) };

/** The entry that was signed last (number $2 - 1, hash $4) and those that follow it up to the head ($3 of them, hash $5). */
const LINKS = statement(
  { entries: 'int8', broken: 'int8' },
  `select count(*) as entries,
     count(*) filter (where l.hash is distinct from l.named or l.expected is distinct from l.previous_hash) as broken
   from (
     select e.hash, e.previous_hash,
       case e.sequence when $2 - 1 then e.previous_hash when $2 then $4
         else lag(e.hash) over (order by e.sequence) end as expected,
       case e.sequence when $3 - 1 then $5 when $2 - 1 then $4 else e.hash end as named
     from audit_log e where e.org_id = $1 and e.sequence >= $2 - 1 and e.sequence < $3) l`,
);

/** Why the head does not continue what was signed, or null. */
async function contradiction(
  client: Queryable,
  { orgId, size, hash }: DueChain,
  signed: { size: number; root: Hash },
): Promise<string | null> {
  if (signed.size > size)
    return `its signed head has ${signed.size} entries, the audit log ${size}`;
  if (signed.size === size) {
    return sameHash(hash, signed.root) ? null : `its last entry is not the one that was signed`;
  }
  const row = (await queryRow(client, LINKS, [orgId, signed.size, size, signed.root, hash]))!;
  const isWhole = Number(row.entries) === size - Math.max(0, signed.size - 1) && row.broken === '0';
  return isWhole ? null : `its entries do not lead from the head that was signed to this one`;
}

const STORE = statement(
  {},
  `insert into audit_checkpoint (log_id, size, hash, note)
   select * from unnest($1::text[], $2::bigint[], $3::bytea[], $4::text[])`,
);

/** What will be visible is remembered outside first: a crash in between forgets nothing. */
async function sign(
  client: PoolClient,
  chains: readonly NamedChain[],
  { signer, memory }: AuditPublisherOptions,
): Promise<void> {
  if (chains.length === 0) return;
  await memory.remember(
    new Map(
      chains.map(({ logId, size, hash, generation }) => [logId, { size, root: hash, generation }]),
    ),
  );
  await execute(client, STORE, [
    chains.map(({ logId }) => logId),
    chains.map(({ size }) => size),
    chains.map(({ hash }) => hash),
    chains.map(({ origin, size, hash }) =>
      signedNote({ origin, size, root: hash, extensions: [] }, signer),
    ),
  ]);
}

const NEWEST = statement(
  { note: 'text' },
  'select note from audit_checkpoint where log_id = $1 order by size desc limit 1',
);

/** The newest signed head of an audit log, as it was signed; null before the first. */
export async function auditCheckpoint(db: Queryable, orgId: string): Promise<string | null> {
  return (await queryRow(db, NEWEST, [auditLogOf(orgId)]))?.note ?? null;
}

const ANCHORED = statement(
  { size: 'int8', at: 'timestamptz' },
  `select a.size, p.at from anchor_head a join anchor_epoch p on p.index = a.index
   where a.org_id = $1 order by a.index desc limit 1`,
);

/** How much of an audit log stands in the anchor log, and since when; null before the first. */
export async function anchoredAuditHead(
  db: Queryable,
  orgId: string,
): Promise<{ size: number; at: number } | null> {
  const row = await queryRow(db, ANCHORED, [auditLogOf(orgId)]);
  return row === undefined ? null : { size: Number(row.size), at: row.at.getTime() };
}
