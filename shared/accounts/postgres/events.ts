import type { Pool } from 'pg';
import { isId } from '#shared/kernel/ids.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { WebhookFact, WebhookType } from '../webhook-events.ts';
import { queueWebhooks } from './webhook-outbox.ts';

/**
 * Writes down what an organisation is told, within the transaction of what it tells: once for its members, and a message for each
 * webhook that was made for it. Returns for how many webhooks there is one.
 * @param once names what must not be told twice
 */
export async function recordEvent<T extends Exclude<WebhookType, 'webhook.test'>>(
  client: Queryable,
  surroundings: Surroundings,
  fact: WebhookFact<T>,
  { once }: { once?: string } = {},
): Promise<number> {
  const { orgId, type, data } = fact;
  // The anchor log, which is halted as others are, has no members.
  if (!isId('org', orgId)) return 0;
  await queriesOn(client)
    .insertInto('event')
    .values({
      id: surroundings.newId('evt'),
      org_id: orgId,
      type,
      data: JSON.stringify(data),
      once: once ?? null,
      at: new Date(surroundings.now()),
    })
    .onConflict((conflict) => conflict.columns(['org_id', 'once']).doNothing())
    .execute();
  return queueWebhooks(client, surroundings, fact, once === undefined ? {} : { once });
}

const FORGET = statement(
  {},
  `delete from event where id in (select id from event where at < $1 order by at limit $2)`,
);

/** Forgets the events before `until`, at most `limit`. Returns how many there were. */
export function forgetEvents(pool: Pool, until: Date, limit: number): Promise<number> {
  return execute(pool, FORGET, [until, limit]);
}
