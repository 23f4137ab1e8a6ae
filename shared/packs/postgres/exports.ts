import type { Pool } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { ExportRecord } from '../export-record.ts';
import type { ExportPageRequest, ExportRegistry } from '../port-exports.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit-append.ts';
import { resolveRange } from './exports-range.ts';

/** Packs that one organisation may have under way: more would only wait for each other. */
export const EXPORTS_UNDER_WAY_MAX = 10;

export interface ExportRow {
  id: string;
  org_id: string;
  status: ExportRecord['status'];
  first_index: string;
  last_index: string;
  checkpoint_size: string;
  done: string;
  size_bytes: string | null;
  sha256: string | null;
  error_code: string | null;
  error_message: string | null;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  expires_at: Date | null;
}

export const EXPORT_COLUMNS = `id, org_id, status, first_index, last_index, checkpoint_size, done, size_bytes, sha256,
  error_code, error_message, created_at, started_at, finished_at, expires_at`;

/** Exports in PostgreSQL, for the API and for operators. */
export function createExportRegistry(pool: Pool, surroundings: Surroundings): ExportRegistry {
  return {
    create: (orgId, request, actor) =>
      inTransaction(pool, async (client) => {
        // Requests of one organisation take turns here, so that the count below holds.
        await client.query('select pg_advisory_xact_lock(hashtextextended($1, 7))', [orgId]);
        const range = await resolveRange(client, orgId, request);
        const { rows: open } = await client.query<{ count: string }>(
          `select count(*) from export
           where org_id = $1 and status in ('queued', 'running') and deleted_at is null`,
          [orgId],
        );
        if (Number(open[0]?.count) >= EXPORTS_UNDER_WAY_MAX) {
          throw new Fault(
            'concurrent_exports_exceeded',
            `${EXPORTS_UNDER_WAY_MAX} exports are under way. Wait for one, or delete it.`,
            { retryAfterMs: 10_000 },
          );
        }
        const { rows } = await client.query<ExportRow>(
          `insert into export (id, org_id, first_index, last_index, checkpoint_size)
           values ($1, $2, $3, $4, $5) returning ${EXPORT_COLUMNS}`,
          [
            surroundings.newId('exp'),
            orgId,
            range.firstIndex,
            range.lastIndex,
            range.checkpointSize,
          ],
        );
        const record = exportOf(rows[0]!);
        await appendAudit(client, surroundings, eventOf(record, 'export.requested', actor));
        return record;
      }),
    get: (orgId, id) => findExport(pool, orgId, id),
    list: (request) => listExports(pool, request),
    delete: (orgId, id, actor) =>
      inTransaction(pool, async (client) => {
        const { rows } = await client.query<ExportRow>(
          `update export set deleted_at = now()
           where id = $1 and org_id = $2 and deleted_at is null returning ${EXPORT_COLUMNS}`,
          [id, orgId],
        );
        if (rows[0] === undefined) return false;
        const record = exportOf(rows[0]);
        const underWay = record.status === 'queued' || record.status === 'running';
        const action = underWay ? 'export.cancelled' : 'export.deleted';
        await appendAudit(client, surroundings, eventOf(record, action, actor));
        return true;
      }),
    downloaded: async (record, actor) => {
      await inTransaction(pool, (client) =>
        appendAudit(client, surroundings, eventOf(record, 'export.downloaded', actor)),
      );
    },
  };
}

async function findExport(pool: Pool, orgId: string, id: string): Promise<ExportRecord | null> {
  const { rows } = await pool.query<ExportRow>(
    `select ${EXPORT_COLUMNS} from export where id = $1 and org_id = $2 and deleted_at is null`,
    [id, orgId],
  );
  return rows[0] === undefined ? null : exportOf(rows[0]);
}

async function listExports(pool: Pool, request: ExportPageRequest): Promise<Page<ExportRecord>> {
  const { orgId, after, limit, order } = request;
  if (after !== undefined && !isId('exp', after)) {
    throw invalidParam('after', 'There is no such export to continue after.');
  }
  const descending = order === 'desc';
  const { rows } = await pool.query<ExportRow>(
    `select ${EXPORT_COLUMNS} from export
     where org_id = $1 and deleted_at is null and ($2::text is null or id ${descending ? '<' : '>'} $2)
     order by id ${descending ? 'desc' : 'asc'} limit $3`,
    [orgId, after ?? null, limit + 1],
  );
  return { items: rows.slice(0, limit).map(exportOf), hasMore: rows.length > limit };
}

/** What the audit log says of an export. */
export function eventOf(record: ExportRecord, action: string, actor: Actor) {
  const { id, orgId, firstIndex, lastIndex, checkpointSize } = record;
  return {
    orgId,
    action,
    actor,
    subject: id,
    details: {
      first_index: firstIndex,
      last_index: lastIndex,
      checkpoint_size: checkpointSize,
      ...(record.sha256 === null ? {} : { sha256: record.sha256 }),
      ...(record.error === null ? {} : { error: record.error.code }),
    },
  };
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
    done: Number(row.done),
    total: lastIndex - firstIndex + 1,
    sizeBytes: row.size_bytes === null ? null : Number(row.size_bytes),
    sha256: row.sha256,
    error:
      row.error_code === null ? null : { code: row.error_code, message: row.error_message ?? '' },
    createdAt: row.created_at.getTime(),
    startedAt: row.started_at?.getTime() ?? null,
    finishedAt: row.finished_at?.getTime() ?? null,
    expiresAt: row.expires_at?.getTime() ?? null,
  };
}
