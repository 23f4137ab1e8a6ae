import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Pool } from 'pg';
import type { Actor, AuditAction } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import { type Page, type PageRequest } from '#shared/kernel/page.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { now, type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { HOUR_MS, timeText } from '#shared/kernel/time.ts';
import {
  BYTES_PER_RECEIPT,
  type ExportRecord,
  EXPORTS_UNDER_WAY_MAX,
  PACK_BYTES_KEPT_MAX,
  GIB,
  PACKS_KEPT_MAX,
} from '../export-record.ts';
import { PACK_ENTRIES_MAX, type PackRange } from '../layout.ts';
import { GIVEN_AGAIN_S } from '../retention.ts';

/** What a caller asks for: by index or by time of integration, everything when neither is named. */
export interface ExportRequest {
  firstIndex?: number;
  lastIndex?: number;
  /** Epoch milliseconds, `from` included, `to` excluded. */
  from?: number;
  to?: number;
  /** A signed checkpoint's size; the newest when absent. */
  checkpointSize?: number;
}

/** Parts of a pack that one caller fetches from one address within an hour are one download. */
const DOWNLOAD_MS = HOUR_MS;
/** A caller whose packs are too many is told to ask again after an hour at the latest: one may be deleted before it expires. */
const RETRY_MAX_MS = HOUR_MS;

export type ExportRegistry = ReturnType<typeof createExportRegistry>;

/** Exports as their owners see them. Every call names the organisation and sees nothing of others. */
export function createExportRegistry(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  /** Entries of downloads that are being written: callers who wait for one hold no connection. */
  const entering = new Map<string, Promise<void>>();
  const enterDownload = async (record: ExportRecord, actor: Actor): Promise<void> => {
    const since = new Date(surroundings.now() - DOWNLOAD_MS);
    if (await isEntered(db, record, { actor, since })) return;
    await inTransaction(pool, (client) =>
      appendAudit(client, surroundings, eventOf(record, 'export.downloaded', actor)),
    );
  };
  return {
    /**
     * Queues an export and writes it into the audit log. One of the same range at the same checkpoint that was finished within
     * the hour is given again; keys and documents in an older one may not be those of now.
     * @throws Fault `invalid_first_index` and the like for a range that is not in a signed checkpoint,
     * `concurrent_exports_exceeded` when the organisation has too many under way, or too many packs
     */
    create: (orgId: string, request: ExportRequest, actor: Actor): Promise<ExportRecord> =>
      inTransaction(pool, async (client) => {
        const id = surroundings.newId('exp');
        const record = await insertExport(queriesOn(client), id, orgId, request);
        if (record.id === id) {
          await appendAudit(client, surroundings, requestedEvent(record, request, actor));
        }
        return record;
      }),
    /** Null when there is none here, or it was deleted. */
    async get(orgId: string, id: string): Promise<ExportRecord | null> {
      const row = await selectExports(db, orgId).where('id', '=', id).executeTakeFirst();
      return row === undefined ? null : exportOf(row);
    },
    /** Throws `invalid_after` when `after` is no id of an export. */
    async list(request: PageRequest & { orgId: string }): Promise<Page<ExportRecord>> {
      const { orgId, after } = request;
      if (after !== undefined && !isId('exp', after)) throw new Fault('invalid_after');
      const rows = await keyset(selectExports(db, orgId), 'id', request).execute();
      return pageOf(rows, request, exportOf);
    },
    /** Cancels or deletes; the pack itself is removed by the caller, or by the next sweep. False when there is none. */
    delete: (orgId: string, id: string, actor: Actor): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const row = await queriesOn(client)
          .updateTable('export')
          .set({ deleted_at: now })
          .where('id', '=', id)
          .where('org_id', '=', orgId)
          .where('deleted_at', 'is', null)
          .returning(EXPORT_COLUMNS)
          .executeTakeFirst();
        if (row === undefined) return false;
        const record = exportOf(row);
        const underWay = record.status === 'queued' || record.status === 'running';
        const action = underWay ? 'export.cancelled' : 'export.deleted';
        await appendAudit(client, surroundings, eventOf(record, action, actor));
        return true;
      }),
    /**
     * Writes into the audit log that a caller takes the pack: once an hour for each address, however many parts are
     * fetched. An entry that is there already is found without the lock of the organisation's chain.
     */
    downloaded(record: ExportRecord, actor: Actor): Promise<void> {
      const name = JSON.stringify([record.id, actor.kind, actor.id, actor.address]);
      const known = entering.get(name);
      if (known !== undefined) return known;
      const entered = enterDownload(record, actor).finally(() => entering.delete(name));
      entering.set(name, entered);
      return entered;
    },
  };
}

export const EXPORT_COLUMNS = [
  'id',
  'org_id',
  'status',
  'first_index',
  'last_index',
  'checkpoint_size',
  'generation',
  'period_from',
  'period_to',
  'done',
  'size_bytes',
  'sha256',
  'error_code',
  'error_message',
  'created_at',
  'started_at',
  'finished_at',
  'expires_at',
] as const satisfies (keyof Database['export'])[];

type ExportRow = Pick<Selectable<Database['export']>, (typeof EXPORT_COLUMNS)[number]>;

const selectExports = (db: Queries, orgId: string) =>
  db
    .selectFrom('export')
    .select(EXPORT_COLUMNS)
    .where('org_id', '=', orgId)
    .where('deleted_at', 'is', null);

async function insertExport(
  db: Queries,
  id: string,
  orgId: string,
  request: ExportRequest,
): Promise<ExportRecord> {
  // Requests of one organisation take turns here, so that the count below holds.
  await sql`select pg_advisory_xact_lock(hashtextextended(${orgId}, 7))`.execute(db);
  const range = await resolveRange(db, orgId, request);
  const standing = await standingExport(db, orgId, range);
  if (standing !== undefined) return exportOf(standing);
  const { underWay, kept, bytes, firstEndsInMs } = await db
    .selectFrom('export')
    .select((eb) => [
      eb.fn.countAll<string>().filterWhere('status', '<>', 'ready').as('underWay'),
      eb.fn.countAll<string>().as('kept'),
      sql<string>`coalesce(sum(coalesce(size_bytes, (last_index - first_index + 1) * ${BYTES_PER_RECEIPT}::bigint)), 0)`.as(
        'bytes',
      ),
      sql<string | null>`1000 * extract(epoch from min(expires_at) - now())`.as('firstEndsInMs'),
    ])
    .where('org_id', '=', orgId)
    .where('status', 'in', ['queued', 'running', 'ready'])
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(underWay) >= EXPORTS_UNDER_WAY_MAX) {
    throw new Fault('concurrent_exports_exceeded', {
      message: `${EXPORTS_UNDER_WAY_MAX} exports are under way. Wait for one, or delete it.`,
    });
  }
  const wanted = (range.lastIndex - range.firstIndex + 1) * BYTES_PER_RECEIPT;
  const isTooLarge = Number(kept) > 0 && Number(bytes) + wanted > PACK_BYTES_KEPT_MAX;
  if (Number(kept) >= PACKS_KEPT_MAX || isTooLarge) {
    const most = isTooLarge
      ? `${PACK_BYTES_KEPT_MAX / GIB} GiB of packs`
      : `${PACKS_KEPT_MAX} packs`;
    throw new Fault('concurrent_exports_exceeded', {
      message: `An organisation keeps at most ${most}. Delete one, or wait until one expires.`,
      retryAfterMs: retryMs(firstEndsInMs),
    });
  }
  const row = await db
    .insertInto('export')
    .values({
      id,
      org_id: orgId,
      first_index: range.firstIndex,
      last_index: range.lastIndex,
      checkpoint_size: range.checkpointSize,
      generation: sql<number>`ledger_generation_at(${orgId}, ${range.checkpointSize})`,
      period_from: dateOf(range.period?.from),
      period_to: dateOf(range.period?.to),
    })
    .returning(EXPORT_COLUMNS)
    .executeTakeFirstOrThrow();
  return exportOf(row);
}

/** Until a pack makes room; undefined while all are under way. */
function retryMs(firstEndsInMs: string | null): number | undefined {
  if (firstEndsInMs === null) return undefined;
  return Math.min(Math.max(Number(firstEndsInMs), 1_000), RETRY_MAX_MS);
}

/** The export that has these bytes, and was finished within the hour. */
const standingExport = (
  db: Queries,
  orgId: string,
  { firstIndex, lastIndex, checkpointSize: size, period }: PackRange,
): Promise<ExportRow | undefined> =>
  selectExports(db, orgId)
    .where('first_index', '=', String(firstIndex))
    .where('last_index', '=', String(lastIndex))
    .where('checkpoint_size', '=', String(size))
    .where('period_from', 'is not distinct from', dateOf(period?.from))
    .where('period_to', 'is not distinct from', dateOf(period?.to))
    .where('status', '=', 'ready')
    // One whose anchor lacks what others were asked for may be made better.
    .where('is_attested', 'is not', false)
    .where('finished_at', '>', sql<Date>`now() - make_interval(secs => ${GIVEN_AGAIN_S})`)
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();

/**
 * Turns what was asked for into indexes below a signed checkpoint: from then on the content is fixed.
 * @throws Fault `invalid_<param>`
 */
async function resolveRange(
  db: Queries,
  orgId: string,
  request: ExportRequest,
): Promise<PackRange> {
  const { from, to, firstIndex, lastIndex } = request;
  const byTime = from !== undefined || to !== undefined;
  if (byTime && (firstIndex !== undefined || lastIndex !== undefined)) {
    throw invalidParam('from', 'Name a range by time or by index, not by both.');
  }
  const size = await checkpointSize(db, orgId, request.checkpointSize);
  const { first, end } = byTime
    ? await rangeOfTimes(db, orgId, { from, to, size })
    : { first: firstIndex ?? 0, end: lastIndex === undefined ? size : lastIndex + 1 };
  if (end > size) {
    throw invalidParam('last_index', `The signed checkpoint has ${size} entries, from index 0.`);
  }
  if (first >= end) throw emptyRange(byTime);
  if (end - first > PACK_ENTRIES_MAX) {
    throw invalidParam(
      byTime ? 'from' : 'first_index',
      `A pack holds at most ${PACK_ENTRIES_MAX} receipts; ask for several.`,
    );
  }
  const period = {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  return {
    firstIndex: first,
    lastIndex: end - 1,
    checkpointSize: size,
    ...(byTime ? { period } : {}),
  };
}

function dateOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms);
}

async function checkpointSize(
  db: Queries,
  orgId: string,
  wanted: number | undefined,
): Promise<number> {
  const signed = await db
    .selectFrom('ledger_checkpoint')
    .select('size')
    .where('org_id', '=', orgId)
    .$if(wanted !== undefined, (query) => query.where('size', '=', String(wanted)))
    .orderBy('size', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (signed !== undefined) return Number(signed.size);
  throw wanted === undefined ? new Fault('invalid_range') : new Fault('invalid_checkpoint_size');
}

/** Entries that were integrated in this time. What the checkpoint does not cover is left out. */
async function rangeOfTimes(
  db: Queries,
  orgId: string,
  { from, to, size }: { from: number | undefined; to: number | undefined; size: number },
): Promise<{ first: number; end: number }> {
  const indexAt = (ms: number): RawBuilder<string> =>
    sql<string>`ledger_index_at(${orgId}, ${new Date(ms)})`;
  const row = await db
    .selectNoFrom([
      (from === undefined ? sql<string>`0` : indexAt(from)).as('first'),
      (to === undefined ? sql<string>`${size}::bigint` : indexAt(to)).as('end'),
    ])
    .executeTakeFirstOrThrow();
  return { first: Number(row.first), end: Math.min(Number(row.end), size) };
}

function emptyRange(byTime: boolean): Fault {
  return byTime
    ? invalidParam('from', 'No receipt of this time is in a signed checkpoint.')
    : invalidParam('first_index', 'The range is empty: the first index lies after the last.');
}

/** Whether the audit log has a download of this caller from this address, and since then. */
async function isEntered(
  db: Queries,
  { id, orgId }: ExportRecord,
  { actor, since }: { actor: Actor; since: Date },
): Promise<boolean> {
  const row = await db
    .selectFrom('audit_log')
    .select('sequence')
    .where('org_id', '=', orgId)
    .where('action', '=', 'export.downloaded')
    .where('actor_kind', '=', actor.kind)
    .where('actor_id', '=', actor.id)
    .where('address', 'is not distinct from', actor.address ?? null)
    .where('subject', '=', id)
    .where('at', '>', since)
    .orderBy('sequence', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** What the audit log says of an export. */
export function eventOf(record: ExportRecord, action: AuditAction, actor: Actor) {
  const { id, orgId, firstIndex, lastIndex, checkpointSize: size } = record;
  return {
    orgId,
    action,
    actor,
    subject: id,
    details: {
      first_index: firstIndex,
      last_index: lastIndex,
      checkpoint_size: size,
      ...(record.sha256 === null ? {} : { sha256: record.sha256 }),
      ...(record.error === null ? {} : { error: record.error.code }),
    },
  };
}

/** With what was asked for beside what came of it: of a range that was left open, nothing else says how. */
function requestedEvent(record: ExportRecord, request: ExportRequest, actor: Actor) {
  const { from, to, firstIndex, lastIndex, checkpointSize: size } = request;
  const event = eventOf(record, 'export.requested', actor);
  const asked = {
    ...(from === undefined ? {} : { asked_from: timeText(from) }),
    ...(to === undefined ? {} : { asked_to: timeText(to) }),
    ...(firstIndex === undefined ? {} : { asked_first_index: firstIndex }),
    ...(lastIndex === undefined ? {} : { asked_last_index: lastIndex }),
    ...(size === undefined ? {} : { asked_checkpoint_size: size }),
  };
  return { ...event, details: { ...event.details, ...asked } };
}

export function exportOf(row: ExportRow): ExportRecord {
  const [firstIndex, lastIndex] = [Number(row.first_index), Number(row.last_index)];
  return {
    id: row.id,
    orgId: row.org_id,
    status: row.status,
    firstIndex,
    lastIndex,
    checkpointSize: Number(row.checkpoint_size),
    ...(row.generation === 1 ? {} : { generation: row.generation }),
    ...(row.period_from === null && row.period_to === null
      ? {}
      : {
          period: {
            ...(row.period_from === null ? {} : { from: row.period_from.getTime() }),
            ...(row.period_to === null ? {} : { to: row.period_to.getTime() }),
          },
        }),
    done: Number(row.done),
    total: lastIndex - firstIndex + 1,
    sizeBytes: row.size_bytes === null ? null : Number(row.size_bytes),
    sha256: row.sha256,
    error:
      row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    waitsBecause: row.status === 'queued' ? row.error_message : null,
    createdAt: row.created_at.getTime(),
    startedAt: row.started_at?.getTime() ?? null,
    finishedAt: row.finished_at?.getTime() ?? null,
    expiresAt: row.expires_at?.getTime() ?? null,
  };
}
