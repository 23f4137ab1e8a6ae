import type { Selectable } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import type { Actor, AuditAction, AuditDetails } from '#shared/accounts/audit/entry.ts';
import { checkSettingsChange } from '#shared/accounts/machine.ts';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { queueWebhooks } from '#shared/accounts/postgres/webhook-outbox.ts';
import type { WebhookType } from '#shared/accounts/webhook-events.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  checkEndpoint,
  ENDPOINTS_MAX,
  SECRET_BEFORE_MS,
  type WebhookEndpoint,
} from '../endpoint.ts';
import { SECRET_BYTES, signingSecret } from '../signature.ts';
import type { SecretSeals } from '../secret-seals.ts';

/** As a form has it. */
interface AskedEndpoint {
  address: string;
  description: string;
  events: string[];
}

/** A message as the page of its endpoint lists it. Its body stays away. */
export interface WebhookDelivery {
  id: string;
  type: string;
  state: 'waiting' | 'delivered' | 'given up';
  /** Epoch milliseconds. */
  createdAt: number;
  deliveredAt: number | null;
  nextAttemptAt: number | null;
  attempts: number;
  status: number | null;
  failure: string | null;
}

/** Messages on one page. */
const PAGE_ROWS = 50;

/**
 * The webhooks of organisations, in PostgreSQL. Each act is one transaction with its audit entry, and holds the account, so
 * that no two of them pass the bound side by side. Refusals are Faults. An address may hold a token, so that the audit log
 * has its origin alone.
 */
export function createWebhookRegistry(
  pool: Pool,
  surroundings: Surroundings,
  { seals, inside }: { seals: SecretSeals | undefined; inside: readonly string[] },
) {
  const inAct = <T>(
    orgId: string,
    actor: Actor,
    work: (client: PoolClient) => Promise<T>,
  ): Promise<T> =>
    inTransaction(pool, async (client) => {
      const { account } = await holdAccount(client, surroundings, orgId);
      checkSettingsChange(account.state, actor);
      return work(client);
    });
  const audited = (
    client: PoolClient,
    act: { orgId: string; actor: Actor; action: AuditAction; subject: string },
    details: AuditDetails = {},
  ): Promise<unknown> => appendAudit(client, surroundings, { ...act, details });
  const demandSeals = (): SecretSeals => {
    if (seals !== undefined) return seals;
    throw new Fault('invalid_webhook', {
      message: 'This service sends no webhooks: it has no WEBHOOKS_SECRET.',
    });
  };
  /** A secret of an endpoint, and the same as it is kept. */
  const newSecret = (id: string): { secret: string; sealed: string } => {
    const { seal } = demandSeals();
    const secret = signingSecret(surroundings.randomBytes(SECRET_BYTES));
    return { secret, sealed: seal(id, secret) };
  };
  return {
    /** Whether this service has what secrets are sealed with. */
    isOffered: seals !== undefined,

    /** All endpoints of an organisation, the oldest first. */
    async list(orgId: string): Promise<WebhookEndpoint[]> {
      const rows = await queriesOn(pool)
        .selectFrom('webhook_endpoint')
        .selectAll()
        .where('org_id', '=', orgId)
        .orderBy('id')
        .execute();
      return rows.map((row) => endpointOf(row, surroundings.now()));
    },

    /** The secret is not to be had again. Throws `invalid_<param>` and, where there are as many as may be, `invalid_webhook`. */
    make: (
      orgId: string,
      asked: AskedEndpoint,
      actor: Actor,
    ): Promise<{ endpoint: WebhookEndpoint; secret: string }> => {
      const { address, description, events } = checkEndpoint(asked, inside);
      return inAct(orgId, actor, async (client) => {
        const db = queriesOn(client);
        const others = await db
          .selectFrom('webhook_endpoint')
          .select('id')
          .where('org_id', '=', orgId)
          .limit(ENDPOINTS_MAX)
          .execute();
        if (others.length >= ENDPOINTS_MAX) {
          throw new Fault('invalid_webhook', {
            message: `An organisation has at most ${ENDPOINTS_MAX} webhooks. End one that is not needed.`,
          });
        }
        const id = surroundings.newId('whe');
        const { secret, sealed } = newSecret(id);
        const row = await db
          .insertInto('webhook_endpoint')
          .values({
            id,
            org_id: orgId,
            address,
            description,
            events: [...events],
            secret: sealed,
            created_at: new Date(surroundings.now()),
          })
          .returningAll()
          .executeTakeFirstOrThrow();
        const act = { orgId, actor, action: 'webhook.made', subject: id } as const;
        await audited(client, act, detailsOf(row));
        return { endpoint: endpointOf(row, surroundings.now()), secret };
      });
    },

    /** Throws `webhook_not_found` and `invalid_<param>`. */
    change: (orgId: string, id: string, asked: AskedEndpoint, actor: Actor): Promise<void> => {
      const { address, description, events } = checkEndpoint(asked, inside);
      return inAct(orgId, actor, async (client) => {
        const before = await find(client, orgId, id);
        // That another address failed says nothing of this one.
        const isElsewhere = address !== before.address;
        const row = await queriesOn(client)
          .updateTable('webhook_endpoint')
          .set({
            address,
            description,
            events: [...events],
            ...(isElsewhere ? { failing_since: null } : {}),
          })
          .where('id', '=', id)
          .returningAll()
          .executeTakeFirstOrThrow();
        const act = { orgId, actor, action: 'webhook.changed', subject: id } as const;
        await audited(client, act, { ...detailsOf(row), moved: isElsewhere });
      });
    },

    /** A new secret, beside which the one before signs for a day. Throws `webhook_not_found`. */
    rotate: (orgId: string, id: string, actor: Actor): Promise<string> =>
      inAct(orgId, actor, async (client) => {
        const before = await find(client, orgId, id);
        const { secret, sealed } = newSecret(id);
        await queriesOn(client)
          .updateTable('webhook_endpoint')
          .set({
            secret: sealed,
            secret_before: before.secret,
            secret_before_until: new Date(surroundings.now() + SECRET_BEFORE_MS),
          })
          .where('id', '=', id)
          .execute();
        await audited(client, { orgId, actor, action: 'webhook.rotated', subject: id });
        return secret;
      }),

    /** Has an endpoint that is paused told again, of what happens from now on. Throws `webhook_not_found`. */
    resume: (orgId: string, id: string, actor: Actor): Promise<void> =>
      inAct(orgId, actor, async (client) => {
        await find(client, orgId, id);
        await queriesOn(client)
          .updateTable('webhook_endpoint')
          .set({ paused_at: null, pause_reason: null, failing_since: null })
          .where('id', '=', id)
          .execute();
        await audited(client, { orgId, actor, action: 'webhook.resumed', subject: id });
      }),

    /** Its messages go with it. Throws `webhook_not_found`. */
    end: (orgId: string, id: string, actor: Actor): Promise<void> =>
      inAct(orgId, actor, async (client) => {
        const row = await find(client, orgId, id);
        const db = queriesOn(client);
        await db.deleteFrom('webhook_endpoint').where('id', '=', id).execute();
        await db.deleteFrom('webhook_delivery').where('endpoint_id', '=', id).execute();
        const act = { orgId, actor, action: 'webhook.ended', subject: id } as const;
        await audited(client, act, detailsOf(row));
      }),

    /** Sends a test. Throws `webhook_not_found` and, where it is paused, `invalid_webhook`. */
    test: (orgId: string, id: string): Promise<void> =>
      inTransaction(pool, async (client) => {
        demandSeals();
        demandTold(await find(client, orgId, id));
        const fact = { orgId, type: 'webhook.test', data: { endpoint_id: id } } as const;
        await queueWebhooks(client, surroundings, fact, { endpointId: id });
      }),

    /** The messages to an endpoint, the newest first. */
    async deliveries(
      orgId: string,
      id: string,
      after: string | undefined,
    ): Promise<Page<WebhookDelivery>> {
      const page = {
        limit: PAGE_ROWS,
        order: 'desc',
        after,
      } as const;
      const of = queriesOn(pool)
        .selectFrom('webhook_delivery')
        .selectAll()
        .where('org_id', '=', orgId)
        .where('endpoint_id', '=', id);
      return pageOf(await keyset(of, 'id', page).execute(), page, deliveryOf);
    },

    /**
     * Sends a message again that has arrived or was given up, under its id: a receiver that has had it can tell. Throws
     * `webhook_not_found` and `invalid_webhook`.
     */
    sendAgain: (orgId: string, id: string, deliveryId: string): Promise<void> =>
      inTransaction(pool, async (client) => {
        demandSeals();
        demandTold(await find(client, orgId, id));
        const changed = await queriesOn(client)
          .updateTable('webhook_delivery')
          .set({ attempts: 0, delivered_at: null, next_attempt_at: new Date(surroundings.now()) })
          .where('id', '=', deliveryId)
          .where('endpoint_id', '=', id)
          .where('next_attempt_at', 'is', null)
          .returning('id')
          .executeTakeFirst();
        if (changed === undefined) {
          throw new Fault('invalid_webhook', {
            message: 'The message is not there any more, or is being sent already.',
          });
        }
      }),
  };
}

/** The endpoint of this organisation, held until the end of the transaction. One of another is as none. */
async function find(
  client: PoolClient,
  orgId: string,
  id: string,
): Promise<Selectable<Database['webhook_endpoint']>> {
  const row = await queriesOn(client)
    .selectFrom('webhook_endpoint')
    .selectAll()
    .where('id', '=', id)
    .where('org_id', '=', orgId)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new Fault('webhook_not_found');
  return row;
}

function demandTold({
  paused_at,
}: Pick<Selectable<Database['webhook_endpoint']>, 'paused_at'>): void {
  if (paused_at === null) return;
  throw new Fault('invalid_webhook', { message: 'The webhook is paused. Resume it first.' });
}

const detailsOf = (
  row: Pick<Selectable<Database['webhook_endpoint']>, 'address' | 'description' | 'events'>,
): AuditDetails => ({
  origin: new URL(row.address).origin,
  description: row.description,
  events: row.events,
});

function endpointOf(row: Selectable<Database['webhook_endpoint']>, now: number): WebhookEndpoint {
  const until = row.secret_before_until?.getTime() ?? 0;
  return {
    id: row.id,
    orgId: row.org_id,
    address: row.address,
    description: row.description,
    events: row.events as WebhookType[],
    createdAt: row.created_at.getTime(),
    secretBeforeUntil: until > now ? until : null,
    failingSince: row.failing_since?.getTime() ?? null,
    paused:
      row.paused_at === null ? null : { at: row.paused_at.getTime(), reason: row.pause_reason! },
  };
}

function deliveryOf(row: Selectable<Database['webhook_delivery']>): WebhookDelivery {
  const waits = row.next_attempt_at !== null;
  return {
    id: row.id,
    type: row.type,
    state: waits ? 'waiting' : row.delivered_at === null ? 'given up' : 'delivered',
    createdAt: row.created_at.getTime(),
    deliveredAt: row.delivered_at?.getTime() ?? null,
    nextAttemptAt: row.next_attempt_at?.getTime() ?? null,
    attempts: row.attempts,
    status: row.status,
    failure: row.failure,
  };
}
