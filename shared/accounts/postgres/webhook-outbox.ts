import { sql } from 'kysely';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { webhookBody, type WebhookFact, type WebhookType } from '../webhook-events.ts';

/** Messages that wait for one endpoint: more than a day brings. While as many wait, later ones are left out. */
const WAITING_MAX = 1_000;

interface Addressing {
  /** Names a message that must not be written twice. */
  once?: string;
  /** One endpoint, whether it was made for such events or not; otherwise all that were. */
  endpointId?: string;
}

/**
 * Writes a message for each endpoint that is to be told, within the transaction of what it tells. Returns how many endpoints
 * are: one that has been told already is among them.
 */
export async function queueWebhooks<T extends WebhookType>(
  client: Queryable,
  surroundings: Surroundings,
  fact: WebhookFact<T>,
  { once, endpointId }: Addressing = {},
): Promise<number> {
  const { orgId, type } = fact;
  const db = queriesOn(client);
  const endpoints = await db
    .selectFrom('webhook_endpoint as e')
    .select('e.id')
    .where('e.org_id', '=', orgId)
    .where('e.paused_at', 'is', null)
    .where(
      endpointId === undefined
        ? sql<boolean>`${type} = any (e.events)`
        : sql<boolean>`e.id = ${endpointId}`,
    )
    .where((eb) =>
      eb.not(
        eb.exists(
          eb
            .selectFrom('webhook_delivery as d')
            .select('d.endpoint_id')
            .whereRef('d.endpoint_id', '=', 'e.id')
            .where('d.next_attempt_at', 'is not', null)
            .offset(WAITING_MAX - 1)
            .limit(1),
        ),
      ),
    )
    .execute();
  if (endpoints.length === 0) return 0;
  const now = surroundings.now();
  const body = webhookBody(fact, now);
  await db
    .insertInto('webhook_delivery')
    .values(
      endpoints.map(({ id }) => ({
        id: surroundings.newId('msg'),
        endpoint_id: id,
        org_id: orgId,
        type,
        body,
        once: once ?? null,
        created_at: new Date(now),
        next_attempt_at: new Date(now),
      })),
    )
    .onConflict((conflict) => conflict.columns(['endpoint_id', 'once']).doNothing())
    .execute();
  return endpoints.length;
}
