import type { Pool } from 'pg';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { KeyRecord } from '../record.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { KeyPageRequest } from '../port-keys.ts';
import { keyLimitOf, type KeyRow } from './rows.ts';

export const KEY_COLUMNS = `id, org_id, name, head, tail, state, scopes, requests_per_second,
  burst, lineage_id, predecessor_id, created_at, expires_at, revoked_at, last_used_at`;

export async function listKeys(pool: Pool, request: KeyPageRequest): Promise<Page<KeyRecord>> {
  if (request.after !== undefined && !isId('key', request.after)) {
    throw new Fault('invalid_after');
  }
  const descending = request.order === 'desc';
  // Ids sort by time, so the page follows the index on (org_id, id).
  const { rows } = await pool.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_key
     where org_id = $1 and ($2::text is null or id ${descending ? '<' : '>'} $2)
     order by id ${descending ? 'desc' : 'asc'} limit $3`,
    [request.orgId, request.after ?? null, request.limit + 1],
  );
  return { items: rows.slice(0, request.limit).map(keyOf), hasMore: rows.length > request.limit };
}

export async function findKey(pool: Pool, orgId: string, keyId: string): Promise<KeyRecord> {
  if (!isId('key', keyId)) throw new Fault('key_not_found');
  const { rows } = await pool.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_key where id = $1 and org_id = $2`,
    [keyId, orgId],
  );
  if (rows[0] === undefined) throw new Fault('key_not_found');
  return keyOf(rows[0]);
}

export async function findKeyByHash(pool: Pool, hash: string): Promise<KeyRecord | null> {
  const { rows } = await pool.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_key where hash = decode($1, 'hex')`,
    [hash],
  );
  return rows[0] === undefined ? null : keyOf(rows[0]);
}

export function keyOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    display: { head: row.head, tail: row.tail },
    state: row.state,
    scopes: row.scopes,
    limit: keyLimitOf(row.requests_per_second, row.burst),
    lineageId: row.lineage_id,
    predecessorId: row.predecessor_id,
    createdAt: row.created_at.getTime(),
    expiresAt: row.expires_at?.getTime() ?? null,
    revokedAt: row.revoked_at?.getTime() ?? null,
    lastUsedAt: row.last_used_at?.getTime() ?? null,
  };
}
