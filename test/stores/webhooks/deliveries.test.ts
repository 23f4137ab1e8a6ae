import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, it } from 'vitest';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import { queueWebhooks } from '#shared/accounts/postgres/webhook-outbox.ts';
import { createPublicFetch } from '#shared/kernel/http/public-fetch.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { sendMessage } from '#shared/webhooks/http/send.ts';
import {
  createWebhookDeliveries,
  forgetDeliveries,
  type Send,
} from '#shared/webhooks/postgres/deliveries.ts';
import { createWebhookRegistry } from '#shared/webhooks/postgres/endpoints.ts';
import { ATTEMPTS_MAX } from '#shared/webhooks/retries.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { SLOW_AT_ONCE, SLOW_MS, TURN_MS } from '#shared/webhooks/slow-receivers.ts';
import { activeAccount, createRegistries, movableClock, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { until } from '#test/support/until.ts';
import { startWebhookReceiver } from '#test/support/webhook-receiver.ts';

const database = await createTestDatabase();
const { receiver, origin } = await startWebhookReceiver();
const registries = createRegistries(database.pool);
const api = database.poolAs('docket_api');
const housekeeping = database.poolAs('docket_housekeeping');
const seals = createSecretSeals('a secret of this test', movableClock());
const never = new AbortController().signal;
/** Longer than an answer of this machine takes. */
const ANSWER_MS_MAX = 1_000;
const publicFetch = createPublicFetch([origin], 'unread');
const send: Send = (message, stopping) =>
  sendMessage(publicFetch, message, stopping, ANSWER_MS_MAX);

let clock = movableClock();
let orgId = '';
let owner = '';
let endpoint = '';
let secret = '';
const registry = () => createWebhookRegistry(api, clock, { seals, inside: [origin] });
const deliveries = (how = send) =>
  createWebhookDeliveries(housekeeping, clock, { seals, send: how });
const deliver = (how = send) => deliveries(how).deliver(orgId, never);
const asked = (path = '/x') => ({
  address: origin + path,
  description: 'On call',
  events: ['key.leaked'],
});
const listed = async () => (await registry().deliveries(orgId, endpoint, undefined)).items;
const leak = async (): Promise<void> => {
  const keys = createKeyRegistry(api, clock);
  const { key } = await keys.issue(orgId, { name: 'k' }, OPERATOR);
  await keys.revoke(orgId, key.id, OPERATOR, { leaked: true });
};

beforeEach(async () => {
  clock = movableClock();
  receiver.take();
  receiver.answer = (response) => response.writeHead(204).end();
  orgId = (await activeAccount(registries)).id;
  const place = { kind: 'organisation', orgId, role: 'owner' } as const;
  owner = (await newPerson(database.pool, [place])).email;
  const made = await registry().make(orgId, asked(), OPERATOR);
  endpoint = made.endpoint.id;
  secret = made.secret;
});

describe('messages that arrive [webhooks.signed, webhooks.delivered]', () => {
  it('are taken by the reference library of the standard, once, also where another process is taking them', async () => {
    await leak();
    await registry().test(orgId, endpoint);
    expect(await deliveries().dueOrganisations(10)).toContain(orgId);
    const another = await housekeeping.connect();
    await another.query('begin');
    await another.query('select from webhook_delivery where org_id = $1 for update', [orgId]);
    await deliver();
    expect(receiver.received).toEqual([]);
    await another.query('rollback');
    another.release();
    await Promise.all([deliver(), deliver()]);
    await deliver();
    // Two turns at once send two messages in any order.
    const received = receiver.take().toSorted((a, b) => (a.body < b.body ? -1 : 1));
    const said = received.map(({ body, headers }) => new Webhook(secret).verify(body, headers));
    expect(said).toMatchObject([
      { type: 'key.leaked', data: { organisation: orgId } },
      { type: 'webhook.test', data: { endpoint_id: endpoint } },
    ]);
    const log = await listed();
    expect(log.map(({ id }) => id).toSorted()).toEqual(
      received.map(({ headers }) => headers['webhook-id']!).toSorted(),
    );
    expect(log).toMatchObject([
      { state: 'delivered', status: 204, attempts: 1 },
      { state: 'delivered', status: 204, attempts: 1 },
    ]);
    expect(await deliveries().dueOrganisations(10)).not.toContain(orgId);
  });

  it('are signed by both secrets for a day after a rotation, then by the new one; neither is in the database in clear', async () => {
    const next = await registry().rotate(orgId, endpoint, OPERATOR);
    for (const [after, isBefore] of [
      [0, true],
      [DAY_MS + 1, false],
    ] as const) {
      clock.advance(after);
      await registry().test(orgId, endpoint);
      await deliver();
      const [message] = receiver.take();
      expect(message!.headers['webhook-signature']!.split(' ')).toHaveLength(isBefore ? 2 : 1);
    }
    const { rows } = await database.pool.query<{ text: string }>(
      `select w::text as text from webhook_endpoint w where org_id = $1
       union all select d::text from webhook_delivery d where org_id = $1
       union all select a::text from audit_log a where org_id = $1`,
      [orgId],
    );
    const everything = rows.map(({ text }) => text).join('\n');
    expect(everything).toContain('webhook.rotated');
    for (const one of [secret, next]) {
      expect(everything).not.toContain(one.slice('whsec_'.length));
      expect(seals.open('whe_another', everything)).toBeNull();
    }
    const audited = await database.pool.query(
      `select details from audit_log where org_id = $1 and details like '%/x%'`,
      [orgId],
    );
    expect(audited.rows).toEqual([]);
  });

  it('come again under the same id when a process is killed before it has noted an answer', async () => {
    await registry().test(orgId, endpoint);
    const killed: Send = async (message, stopping) => {
      await send(message, stopping);
      throw new Error('killed');
    };
    await expect(deliver(killed)).rejects.toThrow('killed');
    await deliver();
    expect(receiver.received).toHaveLength(1);
    clock.advance(60_001);
    await deliver();
    const [first, second] = receiver.take();
    expect(second!.headers['webhook-id']).toBe(first!.headers['webhook-id']);
    expect(second!.body).toBe(first!.body);
    expect(await listed()).toMatchObject([{ state: 'delivered', attempts: 2 }]);
  });

  it('go to the address that is so when they are sent, also where it is changed during a turn', async () => {
    await registry().test(orgId, endpoint);
    await registry().test(orgId, endpoint);
    await deliver(async (message, stopping) => {
      const outcome = await send(message, stopping);
      await registry().change(orgId, endpoint, asked('/new'), OPERATOR);
      return outcome;
    });
    expect(receiver.take().map(({ path }) => path)).toEqual(['/x', '/new']);
  });

  it('are not counted as failed when they are broken off because the process stops', async () => {
    await registry().test(orgId, endpoint);
    const stopping = new AbortController();
    receiver.answer = () => stopping.abort();
    await deliveries().deliver(orgId, stopping.signal);
    expect(await listed()).toMatchObject([{ state: 'waiting', failure: null }]);
    expect((await registry().list(orgId))[0]!.failingSince).toBeNull();
  });
});

describe('messages that do not arrive', () => {
  it('are tried again after growing waits, given up, and sent again under their id by a person [webhooks.delivered]', async () => {
    receiver.answer = (response) => response.writeHead(500).end('<b>secrets of the receiver</b>');
    await leak();
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      await deliver();
      await deliver();
      expect(receiver.received).toHaveLength(attempt);
      const [one] = await listed();
      expect(one).toMatchObject({ attempts: attempt, status: 500, failure: 'it answered 500' });
      if (attempt < ATTEMPTS_MAX) clock.advance(one!.nextAttemptAt! - clock.now() + 1);
      else expect(one).toMatchObject({ state: 'given up', nextAttemptAt: null });
    }
    expect((await registry().list(orgId))[0]).toMatchObject({ paused: null });
    receiver.answer = (response) => response.writeHead(200).end();
    const { id } = (await listed())[0]!;
    await registry().sendAgain(orgId, endpoint, id);
    await expect(registry().sendAgain(orgId, endpoint, id)).rejects.toThrow('being sent already');
    await deliver();
    expect(new Set(receiver.take().map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([id]),
    );
    expect(await listed()).toMatchObject([{ state: 'delivered' }]);
    expect((await registry().list(orgId))[0]!.failingSince).toBeNull();
  });

  it.for([
    [
      'a redirect',
      (r) => r.writeHead(302, { location: `${origin}/inside` }).end(),
      /answered 302, and redirects/,
    ],
    ['no answer', () => {}, /no answer within 1 second/],
    [
      'an answer that breaks off',
      (r) => r.destroy(),
      /other side closed|ECONNRESET|socket hang up/i,
    ],
  ] as [string, typeof receiver.answer, RegExp][])(
    '%s is a failure, which is noted within bounds and is asked for once [webhooks.outside]',
    async ([, answer, words]) => {
      receiver.answer = answer;
      await registry().test(orgId, endpoint);
      await deliver();
      expect(receiver.take().map(({ path }) => path)).toEqual(['/x']);
      const [one] = await listed();
      expect(one).toMatchObject({ state: 'waiting', attempts: 1 });
      expect(one!.failure).toMatch(words);
    },
  );

  it('an answer without an end, or compressed, is not read: its status is what counts [webhooks.outside]', async () => {
    receiver.answer = (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.write('not gzip at all');
    };
    await registry().test(orgId, endpoint);
    await deliver();
    expect(await listed()).toMatchObject([{ state: 'delivered', status: 200 }]);
  });

  it('what leads into our own network is called by no name and no address that an operator has not allowed [webhooks.outside]', async () => {
    const strict = createPublicFetch([], 'unread');
    const port = new URL(origin).port;
    for (const address of [
      `https://localhost:${port}/x`,
      `https://127.0.0.1:${port}/x`,
      `${origin}/x`,
    ]) {
      const outcome = await sendMessage(strict, { address, headers: {}, body: '{}' }, never);
      expect(outcome).toEqual({
        status: null,
        failure: 'its address leads to no server of the internet',
      });
    }
    expect(receiver.take()).toEqual([]);
  });

  it('a receiver that is slow holds up no other of its organisation, and one that fails is asked for one message in a turn [webhooks.outside]', async () => {
    const other = (await registry().make(orgId, asked('/other'), OPERATOR)).endpoint.id;
    receiver.answer = (response, { path }) => {
      // The slow one is answered when the other has had its message.
      if (path === '/other') response.writeHead(204).end();
    };
    await registry().test(orgId, endpoint);
    await registry().test(orgId, endpoint);
    await registry().test(orgId, other);
    await deliver();
    expect(
      receiver
        .take()
        .map(({ path }) => path)
        .toSorted(),
    ).toEqual(['/other', '/x']);
    expect(await listed()).toMatchObject([{ attempts: 0 }, { attempts: 1 }]);
  });
});

describe('a webhook that is paused [webhooks.paused]', () => {
  const letters = async () =>
    (
      await database.pool.query<{ subject: string; body: string }>(
        `select subject, body from mail_outbox where recipient = $1 and subject like 'Webhook%'`,
        [owner],
      )
    ).rows;

  it('is one that answers 410: its owners get an e-mail, nothing more is kept for it, and a person resumes it', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    await leak();
    await leak();
    await deliver();
    expect((await registry().list(orgId))[0]!.paused).toMatchObject({ reason: 'gone' });
    expect(await letters()).toHaveLength(1);
    expect((await letters())[0]!.body).not.toContain('/x');
    await leak();
    await deliver();
    expect(receiver.take()).toHaveLength(1);
    expect(await listed()).toMatchObject([{ state: 'given up' }, { state: 'given up' }]);
    await expect(registry().test(orgId, endpoint)).rejects.toThrow('paused');
    await registry().resume(orgId, endpoint, OPERATOR);
    receiver.answer = (response) => response.writeHead(204).end();
    await leak();
    await deliver();
    expect(receiver.take()).toHaveLength(1);
  });

  it('is told to a reader no more often in an hour than others are, though it is resumed and paused again', async () => {
    receiver.answer = (response) => response.writeHead(410).end();
    for (let pauses = 0; pauses < 21; pauses += 1) {
      await registry().resume(orgId, endpoint, OPERATOR);
      await registry().test(orgId, endpoint);
      await deliver();
    }
    expect((await registry().list(orgId))[0]!.paused).not.toBeNull();
    expect(await letters()).toHaveLength(20);
  });

  it('is one where a message is given up and nothing has arrived for three days', async () => {
    receiver.answer = (response) => response.writeHead(503).end();
    await leak();
    await deliver();
    clock.advance(3 * DAY_MS);
    await database.pool.query('update webhook_delivery set attempts = $2 where endpoint_id = $1', [
      endpoint,
      ATTEMPTS_MAX - 2,
    ]);
    await deliver();
    expect((await registry().list(orgId))[0]!.paused).toBeNull();
    clock.advance(DAY_MS);
    await deliver();
    expect((await registry().list(orgId))[0]!.paused).toMatchObject({ reason: 'failing' });
    expect((await letters())[0]!.subject).toMatch(/^Webhook at .* is paused$/);
  });
});

describe('webhooks of an organisation [webhooks.page]', () => {
  it('are none to another one, at most five, and gone with their messages when it is closed or they are ended', async () => {
    const other = (await activeAccount(registries)).id;
    await registry().test(orgId, endpoint);
    const { id: message } = (await listed())[0]!;
    for (const act of [
      () => registry().change(other, endpoint, asked(), OPERATOR),
      () => registry().rotate(other, endpoint, OPERATOR),
      () => registry().resume(other, endpoint, OPERATOR),
      () => registry().end(other, endpoint, OPERATOR),
      () => registry().test(other, endpoint),
      () => registry().sendAgain(other, endpoint, message),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'webhook_not_found' });
    }
    expect((await registry().deliveries(other, endpoint, undefined)).items).toEqual([]);
    const made = await Promise.allSettled(
      Array.from({ length: 6 }, () => registry().make(orgId, asked(), OPERATOR)),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(4);
    await registry().end(orgId, endpoint, OPERATOR);
    expect(await listed()).toEqual([]);
    await leak();
    await registries.accounts.close(orgId, OPERATOR, 'Asked for.');
    const { rows } = await database.pool.query(
      'select id from webhook_endpoint where org_id = $1 union all select id from webhook_delivery where org_id = $1',
      [orgId],
    );
    expect(rows).toEqual([]);
  });

  it('are sent nothing by hand by a service that sends none any more, which says so', async () => {
    await registry().test(orgId, endpoint);
    await deliver();
    const { id: message } = (await listed())[0]!;
    const none = createWebhookRegistry(api, clock, { seals: undefined, inside: [] });
    for (const act of [
      () => none.test(orgId, endpoint),
      () => none.sendAgain(orgId, endpoint, message),
    ]) {
      await expect(act()).rejects.toThrow('This service sends no webhooks');
    }
    expect(await listed()).toMatchObject([{ state: 'delivered' }]);
  });

  it('a message that is written while its endpoint is paused or ended is not handed out for ever', async () => {
    const ended = (await registry().make(orgId, asked(), OPERATOR)).endpoint.id;
    const fact = { orgId, type: 'webhook.test', data: { endpoint_id: endpoint } } as const;
    const writer = await api.connect();
    await writer.query('begin');
    for (const endpointId of [endpoint, ended])
      await queueWebhooks(writer, clock, fact, { endpointId });
    await registry().end(orgId, ended, OPERATOR);
    await database.pool.query(
      `update webhook_endpoint set paused_at = now(), pause_reason = 'gone' where id = $1`,
      [endpoint],
    );
    await writer.query('commit');
    writer.release();
    expect(await deliveries().dueOrganisations(10)).not.toContain(orgId);
    await registry().resume(orgId, endpoint, OPERATOR);
    expect(await deliveries().dueOrganisations(10)).toContain(orgId);
    await deliver();
    expect(receiver.take()).toHaveLength(1);
  });

  it('an organisation is closed while an attempt is being noted: neither waits for the other in a circle', async () => {
    await registry().test(orgId, endpoint);
    const holder = await database.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhook_endpoint where id = $1 for update', [endpoint]);
    const delivered = deliver();
    await until(() => waitsForLock(database.pool));
    const closed = registries.accounts.close(orgId, OPERATOR, 'Asked for.');
    await until(() => waitsForLock(database.pool, 2));
    await holder.query('rollback');
    holder.release();
    await delivered;
    expect(await closed).toMatchObject({ state: 'closed' });
  });

  it('what was sent is forgotten after its time, by the role that forgets', async () => {
    await registry().test(orgId, endpoint);
    const purge = database.poolAs('docket_purge');
    await forgetDeliveries(purge, new Date(clock.now() - DAY_MS), 10);
    expect(await listed()).toHaveLength(1);
    await forgetDeliveries(purge, new Date(clock.now() + 1), 100);
    expect(await listed()).toEqual([]);
  });
});

it('turns of organisations with slow receivers have a few places, so that those of others wait for none of them', async () => {
  const others = await Promise.all(
    Array.from({ length: SLOW_AT_ONCE + 2 }, async () => {
      const { id } = await activeAccount(registries);
      const made = await registry().make(id, asked(), OPERATOR);
      return { id, endpoint: made.endpoint.id };
    }),
  );
  const queueAll = async (): Promise<void> => {
    for (const { id, endpoint: to } of others)
      for (let count = 0; count < 2; count += 1) await registry().test(id, to);
  };
  await queueAll();
  let sent = 0;
  let held: Promise<void> | undefined;
  const own = deliveries(async () => {
    sent += 1;
    if (held === undefined) clock.advance(SLOW_MS);
    await held;
    return { status: 204, failure: null };
  });
  // One at a time: each is found to be slow, and its turn ends.
  for (const { id } of others) await own.deliver(id, never);
  expect(sent).toBe(others.length);
  const answered = Promise.withResolvers<void>();
  held = answered.promise;
  const turns = others.map(({ id }) => own.deliver(id, never));
  await until(() => sent === others.length + SLOW_AT_ONCE);
  await Promise.all(turns.slice(SLOW_AT_ONCE));
  // One whose receiver answers has its turn meanwhile.
  await registry().test(orgId, endpoint);
  const fast = own.deliver(orgId, never);
  await until(() => sent === others.length + SLOW_AT_ONCE + 1);
  answered.resolve();
  await Promise.all([...turns, fast]);
  // What found no place is due again, and has its turn.
  for (const { id } of others.slice(SLOW_AT_ONCE)) await own.deliver(id, never);
  expect(sent).toBe(2 * others.length + 1);
});

it('a turn of an organisation whose receiver is just not slow is over within moments, and what is left waits for its next', async () => {
  for (let count = 0; count < 5; count += 1) await registry().test(orgId, endpoint);
  let sent = 0;
  const own = deliveries(() => {
    sent += 1;
    // The clock goes on by itself, too.
    clock.advance(SLOW_MS - 200);
    return Promise.resolve({ status: 204, failure: null });
  });
  await own.deliver(orgId, never);
  const inOneTurn = sent;
  expect(inOneTurn).toBeLessThanOrEqual(Math.ceil(TURN_MS / (SLOW_MS - 200)));
  expect(inOneTurn).toBeLessThan(5);
  for (let turn = 0; turn < 4; turn += 1) await own.deliver(orgId, never);
  expect(sent).toBe(5);
});
