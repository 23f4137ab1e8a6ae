import { type Selectable, sql } from 'kysely';
import type { Pool } from 'pg';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { queueLetter } from '#shared/accounts/postgres/mail.ts';
import { ownersOf } from '#shared/accounts/postgres/readers.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { Outcome } from '../http/send.ts';
import { draftOfPaused } from '../letters.ts';
import { pauseAfter, waitAfterFailure } from '../retries.ts';
import { headersOf } from '../signature.ts';
import type { SecretSeals } from '../secret-seals.ts';
import { SlowReceivers, TURN_MS } from '../slow-receivers.ts';

/** A message that was taken is taken again after so long, unless its outcome is written: longer than any answer takes. */
const TAKEN_MS = 60_000;
/** Messages to one endpoint in one turn of its organisation: a full turn is over within the job's time, however slow it is. */
const PER_TURN_MAX = 5;

/** Sends one message; throws for nothing that a receiver does. */
export type Send = (
  message: { address: string; headers: Record<string, string>; body: string },
  stopping: AbortSignal,
) => Promise<Outcome>;

type EndpointRow = Selectable<Database['webhook_endpoint']>;
type Taken = Pick<Selectable<Database['webhook_delivery']>, 'id' | 'body' | 'attempts'>;

export type WebhookDeliveries = ReturnType<typeof createWebhookDeliveries>;

/**
 * The messages that wait. Each reaches its receiver at least once, under the same `webhook-id` each time: a process that is
 * killed between the answer and its note sends it again.
 */
export function createWebhookDeliveries(
  pool: Pool,
  surroundings: Surroundings,
  { seals, send }: { seals: SecretSeals; send: Send },
) {
  const slow = new SlowReceivers();
  return {
    /**
     * Organisations with messages that are due, those that wait longest first. A message that was written while its endpoint
     * was paused or ended waits for no one, and must not be handed out before others for ever.
     */
    async dueOrganisations(limit: number): Promise<string[]> {
      const rows = await queriesOn(pool)
        .selectFrom('webhook_delivery as d')
        .innerJoin('webhook_endpoint as e', 'e.id', 'd.endpoint_id')
        .select('d.org_id')
        .where('d.next_attempt_at', '<=', new Date(surroundings.now()))
        .where('e.paused_at', 'is', null)
        .groupBy('d.org_id')
        .orderBy(({ fn }) => fn.min('d.next_attempt_at'))
        .limit(limit)
        .execute();
      return rows.map(({ org_id }) => org_id);
    },

    /**
     * Sends what is due of one organisation: to its endpoints at once, to each one message after the other until one fails or is
     * slow to arrive, or the turn has lasted long enough. Nothing where it has slow receivers and others that do have all the places that there are for these.
     */
    deliver: (orgId: string, stopping: AbortSignal): Promise<void> =>
      slow.turn(orgId, surroundings.now(), async () => {
        const endpoints = await queriesOn(pool)
          .selectFrom('webhook_endpoint')
          .select('id')
          .where('org_id', '=', orgId)
          .where('paused_at', 'is', null)
          .execute();
        await Promise.all(endpoints.map(({ id }) => deliverTo(id, stopping)));
      }),
  };

  async function deliverTo(endpointId: string, stopping: AbortSignal): Promise<void> {
    const until = surroundings.now() + TURN_MS;
    for (let sent = 0; sent < PER_TURN_MAX && !stopping.aborted; sent += 1) {
      if (sent > 0 && surroundings.now() >= until) return;
      const taken = await take(pool, endpointId, surroundings.now());
      if (taken === undefined) return;
      // Read for each message: what was changed since the turn began is so from the next message on.
      const endpoint = await queriesOn(pool)
        .selectFrom('webhook_endpoint')
        .selectAll()
        .where('id', '=', endpointId)
        .executeTakeFirst();
      if (endpoint === undefined) return;
      const begun = surroundings.now();
      const outcome = await attempt(endpoint, taken, stopping);
      const ended = surroundings.now();
      const isSlow = slow.took(endpoint.org_id, ended - begun, ended);
      // What was broken off because the process stops is no failure of the receiver.
      if (outcome.failure !== null && stopping.aborted) return;
      const isLeft = await note(endpoint, taken, outcome);
      if (outcome.failure !== null || isSlow || !isLeft) return;
    }
  }

  async function attempt(
    endpoint: EndpointRow,
    { id, body }: Taken,
    stopping: AbortSignal,
  ): Promise<Outcome> {
    const now = surroundings.now();
    const { secret, secret_before: before, secret_before_until: until } = endpoint;
    const sealed = [secret, ...(before !== null && until! > new Date(now) ? [before] : [])];
    const secrets = sealed.flatMap((text) => seals.open(endpoint.id, text) ?? []);
    if (secrets.length === 0) {
      const failure = 'its signing secret cannot be read any more: rotate it';
      return { status: null, failure };
    }
    const headers = headersOf(secrets, { id, timestamp: Math.floor(now / 1_000), body });
    return send({ address: endpoint.address, headers, body }, stopping);
  }

  /** Writes down what came of an attempt. False when the message is in the hands of another attempt meanwhile. */
  function note(endpoint: EndpointRow, taken: Taken, outcome: Outcome): Promise<boolean> {
    const now = surroundings.now();
    const { status, failure } = outcome;
    const waitMs = failure === null ? null : waitAfterFailure(taken.attempts, randomShare());
    return inTransaction(pool, async (client) => {
      const db = queriesOn(client);
      // The endpoint first, as each act on it does, so that none waits for another in a circle.
      const held = await db
        .selectFrom('webhook_endpoint')
        .selectAll()
        .where('id', '=', endpoint.id)
        .forUpdate()
        .executeTakeFirst();
      const noted = await db
        .updateTable('webhook_delivery')
        .set({
          status,
          failure,
          delivered_at: failure === null ? new Date(now) : null,
          next_attempt_at: waitMs === null ? null : new Date(now + waitMs),
        })
        .where('id', '=', taken.id)
        .where('attempts', '=', taken.attempts)
        .where('next_attempt_at', 'is not', null)
        .returning('id')
        .executeTakeFirst();
      if (held === undefined || noted === undefined) return false;
      if (failure === null) {
        if (held.failing_since !== null) await setFailing(client, held.id, null);
        return true;
      }
      // What was sent to an address that is changed since says nothing of the new one.
      if (held.address !== endpoint.address || held.paused_at !== null) return true;
      const failingSince = held.failing_since ?? new Date(now);
      if (held.failing_since === null) await setFailing(client, held.id, failingSince);
      const failingForMs = now - failingSince.getTime();
      const reason = pauseAfter({ status, isLast: waitMs === null, failingForMs });
      if (reason !== null) {
        await pause(client, held, { reason, failingSince: failingSince.getTime() });
      }
      return true;
    });
  }

  async function pause(
    client: Parameters<typeof appendAudit>[0],
    endpoint: EndpointRow,
    why: { reason: 'gone' | 'failing'; failingSince: number },
  ): Promise<void> {
    const { id, org_id: orgId } = endpoint;
    const db = queriesOn(client);
    await db
      .updateTable('webhook_endpoint')
      .set({ paused_at: new Date(surroundings.now()), pause_reason: why.reason })
      .where('id', '=', id)
      .execute();
    await db
      .updateTable('webhook_delivery')
      .set({ next_attempt_at: null })
      .where('endpoint_id', '=', id)
      .where('next_attempt_at', 'is not', null)
      .execute();
    await appendAudit(client, surroundings, {
      orgId,
      action: 'webhook.paused',
      actor: { kind: 'system', id: 'webhooks' },
      subject: id,
      details: { reason: why.reason },
    });
    const letter = draftOfPaused(endpoint, why);
    for (const to of await ownersOf(client, orgId)) {
      // Within the bounds of e-mails: who has a receiver say 410 and resumes it can have this written as often as they like.
      await queueLetter(client, surroundings, { to, ...letter }, { orgId });
    }
  }

  /** At least 0 and below 1. */
  function randomShare(): number {
    const [byte] = surroundings.randomBytes(1);
    return byte! / 256;
  }
}

/** Takes the message to an endpoint that is due longest, for so long as an attempt may last. */
function take(pool: Pool, endpointId: string, now: number): Promise<Taken | undefined> {
  const db = queriesOn(pool);
  const due = db
    .selectFrom('webhook_delivery')
    .select('id')
    .where('endpoint_id', '=', endpointId)
    .where('next_attempt_at', '<=', new Date(now))
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(1)
    .forUpdate()
    .skipLocked();
  return db
    .updateTable('webhook_delivery')
    .set({ attempts: sql<number>`attempts + 1`, next_attempt_at: new Date(now + TAKEN_MS) })
    .where('id', '=', due)
    .returning(['id', 'body', 'attempts'])
    .executeTakeFirst();
}

async function setFailing(client: Queryable, id: string, since: Date | null): Promise<void> {
  await queriesOn(client)
    .updateTable('webhook_endpoint')
    .set({ failing_since: since })
    .where('id', '=', id)
    .execute();
}

/** Messages written before `$1`, delivered or not. One that still waits is a day old at most. */
const FORGET = statement(
  {},
  `delete from webhook_delivery where id in (
     select id from webhook_delivery where created_at < $1 order by created_at limit $2)`,
);

/** Forgets what was sent before `until`, at most `limit`. Returns how many there were. */
export function forgetDeliveries(pool: Pool, until: Date, limit: number): Promise<number> {
  return execute(pool, FORGET, [until, limit]);
}
