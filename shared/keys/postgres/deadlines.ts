import { sql } from 'kysely';
import type { Pool } from 'pg';
import { queueExpiryWarning } from '#shared/accounts/postgres/mail.ts';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { timeText } from '#shared/kernel/time.ts';
import { displayText } from '../describe.ts';
import { expiryWarnings, purgedUntil } from '../lifecycle.ts';
import { KEY_COLUMNS, keyOf, record, type KeyEvent, type KeyRow, type Within } from './keys.ts';

export type KeyDeadlines = ReturnType<typeof createKeyDeadlines>;

/** Changes of keys by the clock alone, in PostgreSQL. Safe to run twice, and in several places at once. */
export function createKeyDeadlines(pool: Pool, surroundings: Surroundings) {
  return {
    /** Writes down active keys whose time is over, at most `limit`. Returns how many there were. */
    expireDue: (limit: number): Promise<number> =>
      finishDue(pool, surroundings, {
        limit,
        due: expiredKeys,
        take: takeExpired,
        action: 'key.expired',
        actor: { kind: 'system', id: 'key-expiry' },
      }),

    /** Deletes the records of keys whose revocation can no longer be undone, at most `limit`. Returns how many there were. */
    purgeDue: (limit: number): Promise<number> =>
      finishDue(pool, surroundings, {
        limit,
        due: purgeableKeys,
        take: takePurged,
        action: 'key.purged',
        actor: { kind: 'system', id: 'key-purge' },
      }),

    /** Writes to the technical contacts of keys that expire soon, once for each warning, at most `limit` of each. */
    warnExpiring: (limit: number): Promise<void> => warnExpiring(pool, surroundings, limit),
  };
}

interface Deadline extends KeyEvent {
  limit: number;
  /** Selects one key whose time has come. */
  due: (db: Queries, nowMs: number) => { executeTakeFirst: () => Promise<unknown> };
  /** Locks one key whose time has come and changes its row; undefined when there is none that is free. */
  take: (within: Within) => Promise<KeyRow | undefined>;
}

/**
 * Finishes keys whose time has come, one transaction each, skipping those that another process holds.
 * Returns how many there were.
 */
async function finishDue(
  pool: Pool,
  surroundings: Surroundings,
  { limit, due, take, ...event }: Deadline,
): Promise<number> {
  let done = 0;
  // Asked before a transaction is begun: most looks find nothing, and one statement says so.
  if ((await due(queriesOn(pool), surroundings.now()).executeTakeFirst()) === undefined) return 0;
  while (done < limit) {
    const found = await inTransaction(pool, async (client) => {
      const within = { client, surroundings };
      const row = await take(within);
      if (row !== undefined) await record(within, keyOf(row), event);
      return row !== undefined;
    });
    if (!found) break;
    done += 1;
  }
  return done;
}

const expiredKeys = (db: Queries, nowMs: number) =>
  db
    .selectFrom('api_key')
    .select('id')
    .where('state', '=', 'active')
    .where('expires_at', '<=', new Date(nowMs))
    .orderBy('expires_at')
    .limit(1);

function takeExpired({ client, surroundings }: Within): Promise<KeyRow | undefined> {
  const db = queriesOn(client);
  const due = expiredKeys(db, surroundings.now()).forUpdate().skipLocked();
  return db
    .updateTable('api_key')
    .set({ state: 'expired' })
    .where('id', '=', due)
    .returning(KEY_COLUMNS)
    .executeTakeFirst();
}

const purgeableKeys = (db: Queries, nowMs: number) =>
  db
    .selectFrom('api_key')
    .select('id')
    .where('state', '=', 'revoked')
    .where('revoked_at', '<=', new Date(purgedUntil(nowMs)))
    .orderBy('revoked_at')
    .limit(1);

function takePurged({ client, surroundings }: Within): Promise<KeyRow | undefined> {
  const db = queriesOn(client);
  const due = purgeableKeys(db, surroundings.now()).forUpdate().skipLocked();
  return db.deleteFrom('api_key').where('id', '=', due).returning(KEY_COLUMNS).executeTakeFirst();
}

/** Queues the warnings that are due, the most urgent first. Each has a name, by which it is written once. */
async function warnExpiring(pool: Pool, surroundings: Surroundings, limit: number): Promise<void> {
  for (const { days, from, until } of expiryWarnings(surroundings.now())) {
    const once = sql<string>`'expiry ' || k.id || ${` ${days}`}`;
    const due = await queriesOn(pool)
      .selectFrom('api_key as k')
      .innerJoin('account as a', 'a.id', 'k.org_id')
      .leftJoin('mail_outbox as m', (join) => join.on('m.once', '=', once))
      .select([
        'k.id',
        'k.org_id',
        'k.name',
        'k.head',
        'k.tail',
        'k.expires_at',
        'a.technical_email',
      ])
      .select(once.as('once'))
      .where('k.state', '=', 'active')
      .where('k.expires_at', '>', new Date(from))
      .where('k.expires_at', '<=', new Date(until))
      .where('m.id', 'is', null)
      .orderBy('k.expires_at')
      .limit(limit)
      .execute();
    for (const row of due) {
      const key = { orgId: row.org_id, name: row.name, display: displayText(row) };
      const expiresAt = row.expires_at!.getTime();
      const warning = { key, to: row.technical_email, expiresAt, once: row.once };
      await inTransaction(pool, async (client) => {
        await queueExpiryWarning(client, surroundings, warning);
        const data = {
          key: { id: row.id, name: key.name, display: key.display },
          expires_at: timeText(expiresAt),
        };
        const fact = { orgId: key.orgId, type: 'key.expiring', data } as const;
        await recordEvent(client, surroundings, fact, { once: row.once });
      });
    }
  }
}
