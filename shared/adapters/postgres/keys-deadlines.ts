import type { Pool } from 'pg';
import type { Actor } from '../../domain/audit/entry.ts';
import { RESTORE_WINDOW_MS } from '../../domain/keys/lifecycle.ts';
import type { Surroundings } from '../../ports/surroundings.ts';
import { inTransaction } from './accounts-transaction.ts';
import { appendAudit } from './audit-append.ts';
import { queueKeyMail } from './mail-events.ts';

interface DueKey {
  id: string;
  organisation_id: string;
  name: string;
  head: string;
  tail: string;
}

/**
 * Writes down that keys have expired. Rows are taken one transaction each, skipping those that
 * another process holds: running this twice, or in two places, expires every key once.
 */
export async function expireDueKeys(
  pool: Pool,
  surroundings: Surroundings,
  limit: number,
): Promise<number> {
  const actor: Actor = { kind: 'system', id: 'key-expiry' };
  let done = 0;
  while (done < limit) {
    const found = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<DueKey>(
        `update api_key set state = 'expired' where id = (
           select id from api_key where state = 'active' and expires_at <= $1
           order by expires_at limit 1 for update skip locked)
         returning id, organisation_id, name, head, tail`,
        [new Date(surroundings.now())],
      );
      return recordDue(client, surroundings, { rows, actor, action: 'key.expired' });
    });
    if (!found) break;
    done += 1;
  }
  return done;
}

/** Deletes the hashed records of keys revoked 90 days ago. The audit log keeps their story. */
export async function purgeDueKeys(
  pool: Pool,
  surroundings: Surroundings,
  limit: number,
): Promise<number> {
  const actor: Actor = { kind: 'system', id: 'key-purge' };
  let done = 0;
  while (done < limit) {
    const found = await inTransaction(pool, async (client) => {
      const { rows } = await client.query<DueKey>(
        `delete from api_key where id = (
           select id from api_key where state = 'revoked' and revoked_at <= $1
           order by revoked_at limit 1 for update skip locked)
         returning id, organisation_id, name, head, tail`,
        [new Date(surroundings.now() - RESTORE_WINDOW_MS)],
      );
      return recordDue(client, surroundings, { rows, actor, action: 'key.purged' });
    });
    if (!found) break;
    done += 1;
  }
  return done;
}

async function recordDue(
  client: Parameters<typeof appendAudit>[0],
  surroundings: Surroundings,
  due: { rows: readonly DueKey[]; actor: Actor; action: string },
): Promise<boolean> {
  const key = due.rows[0];
  if (key === undefined) return false;
  const named = { name: key.name, display: `${key.head}…${key.tail}` };
  await appendAudit(client, surroundings, {
    organisationId: key.organisation_id,
    action: due.action,
    actor: due.actor,
    subject: key.id,
    details: named,
  });
  await queueKeyMail(client, surroundings, {
    key: { organisationId: key.organisation_id, ...named },
    action: due.action,
    actor: due.actor,
  });
  return true;
}
