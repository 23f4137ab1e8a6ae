import type { Pool } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { RESTORE_WINDOW_MS } from '../lifecycle.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit-append.ts';
import { queueExpiryWarning, queueKeyMail } from '#shared/accounts/postgres/mail-events.ts';

interface DueKey {
  id: string;
  org_id: string;
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
         returning id, org_id, name, head, tail`,
        [new Date(surroundings.now())],
      );
      return recordDue(client, surroundings, { rows, actor, action: 'key.expired' });
    });
    if (!found) break;
    done += 1;
  }
  return done;
}

const DAY_MS = 24 * 60 * 60 * 1_000;
/** Two weeks are enough to rotate; the last day is for those who forgot. */
const WARNING_DAYS = [1, 14] as const;

/** Queues the warnings that are due. Each is written once per key, however often this runs. */
export async function warnOfExpiry(
  pool: Pool,
  surroundings: Surroundings,
  limit: number,
): Promise<void> {
  const now = surroundings.now();
  const { rows } = await pool.query<
    Pick<DueKey, 'id' | 'org_id' | 'name' | 'head' | 'tail'> & {
      expires_at: Date | null;
      technical_email: string;
    }
  >(
    `select k.id, k.org_id, k.name, k.head, k.tail, k.expires_at, a.technical_email
     from api_key k join account a on a.id = k.org_id
     where k.state = 'active' and k.expires_at > $1 and k.expires_at <= $2
       and not exists (select from mail_outbox m where m.once = 'expiry ' || k.id ||
         case when k.expires_at <= $3 then ' 1' else ' 14' end)
     order by k.expires_at limit $4`,
    [new Date(now), new Date(now + 14 * DAY_MS), new Date(now + DAY_MS), limit],
  );
  for (const row of rows) {
    const expiresAt = row.expires_at!.getTime();
    const days = WARNING_DAYS.find((count) => expiresAt <= now + count * DAY_MS);
    await queueExpiryWarning(pool, surroundings, {
      key: {
        orgId: row.org_id,
        name: row.name,
        display: `${row.head}…${row.tail}`,
      },
      to: row.technical_email,
      expiresAt,
      once: `expiry ${row.id} ${days}`,
    });
  }
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
         returning id, org_id, name, head, tail`,
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
    orgId: key.org_id,
    action: due.action,
    actor: due.actor,
    subject: key.id,
    details: named,
  });
  await queueKeyMail(client, surroundings, {
    key: { orgId: key.org_id, ...named },
    action: due.action,
    actor: due.actor,
  });
  return true;
}
