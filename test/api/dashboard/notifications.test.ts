import type { Pool } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { CHOSEN_TYPES, WEBHOOK_EVENTS, type WebhookFact } from '#shared/accounts/webhook-events.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createNotifications } from '#shared/persons/postgres/notifications.ts';
import { ORGANISATION_ROLES, type OrganisationRole } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  newPerson,
  openDashboardEdge,
  type TestBrowser,
  withoutFormToken,
} from '#test/support/dashboard.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { errors, newVisitor } = await openDashboardEdge(database);

let org = '';
let page = '';

const newPart = (role: OrganisationRole) =>
  newPerson(database.pool, [{ kind: 'organisation', orgId: org, role }]);
const signedIn = (role: OrganisationRole): Promise<TestBrowser> =>
  newVisitor({ kind: 'organisation', orgId: org, role });
/** Has something happened to the organisation. */
type Told = Exclude<(typeof CHOSEN_TYPES)[number], 'webhook.test'>;
const happens = (type: Told, data: object = WEBHOOK_EVENTS[type].example) =>
  recordEvent(database.pool, systemSurroundings, { orgId: org, type, data } as WebhookFact<Told>);
/** What the bell of a page says. */
function bellOf(payload: string): string {
  const [, bell = ''] = /<a\s+class="bell"[^]*?<\/svg>([^]*?)<\/a>/.exec(payload)!;
  return bell
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  page = `/dashboard/${org}/notifications`;
  errors.length = 0;
});

describe('notifications [dashboard.notifications]', () => {
  it('say in every role what happened, with the way to the thing, and what of it the person has not seen', async () => {
    const readers = await Promise.all(ORGANISATION_ROLES.map(signedIn));
    expect((await readers[0]!.get(page)).payload).toContain('No notifications');
    for (const type of CHOSEN_TYPES) await happens(type);
    for (const reader of readers) {
      const { payload } = await reader.get(page);
      expect(bellOf(payload)).toBe(`Notifications ${CHOSEN_TYPES.length} unread`);
      expect(payload.match(/>new</g)).toHaveLength(CHOSEN_TYPES.length);
      for (const place of [
        'budgets#bgt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
        'keys/key_01M7W53ZF4Z6X0T8WB5N2K9MVC',
        'receipts/rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
        'ledger',
        'exports/exp_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      ])
        expect(payload).toContain(`href="/dashboard/${org}/${place}"`);
      expect(payload).toContain('812\u202f304 of 1\u202f000\u202f000 tokens');
    }
    expect(errors).toEqual([]);
  });

  it('are marked as read by one person up to what the page showed, and stay new to the others', async () => {
    const [one, other] = [await signedIn('auditor'), await signedIn('owner')];
    await happens('ledger.halted');
    const shown = (await one.get(page)).payload;
    const [, through = ''] = /name="through" value="([^"]+)"/.exec(shown)!;
    await happens('organisation.suspended');
    const marked = await one.send(page, `${page}/read`, { through });
    expect(marked.headers.location).toBe(`${page}?done=read`);
    expect(bellOf((await one.get(`/dashboard/${org}/keys`)).payload)).toBe(
      'Notifications 1 unread',
    );
    // What came meanwhile is not said to be read.
    expect((await one.get(`${page}?done=read`)).payload).not.toContain('marked as read');
    expect(bellOf((await other.get(page)).payload)).toBe('Notifications 2 unread');
    const late = await signedIn('member');
    expect(bellOf((await late.get(page)).payload)).toBe('Notifications');
    // An id that was made up marks what is there, and nothing to come.
    await one.send(page, `${page}/read`, { through: `evt_${'7'.repeat(26)}` });
    expect(bellOf((await one.get(`${page}?done=read`)).payload)).toBe('Notifications');
    await happens('ledger.halted');
    expect(bellOf((await one.get(page)).payload)).toBe('Notifications 1 unread');
  });

  it('are found by kind and page by page, and more than a hundred new ones are counted no further', async () => {
    const reader = await signedIn('member');
    for (let i = 0; i < 60; i += 1) await happens('ledger.halted');
    for (let i = 0; i < 45; i += 1) await happens('key.leaked');
    const first = (await reader.get(page)).payload;
    expect(bellOf(first)).toBe('Notifications 99+ unread');
    const [, older = ''] = /href="([^"]+\?after=[^"]+)"/.exec(first)!;
    expect((await reader.get(older)).payload.match(/>new</g)).toHaveLength(50);
    const some = (await reader.get(`${page}?kind=key.leaked`)).payload;
    expect(some.match(/>new</g)).toHaveLength(45);
    // The newest of one kind is not the newest of all.
    expect(some).not.toContain('Mark all as read');
    expect((await reader.get(`${page}?kind=export.ready`)).payload).toContain('Nothing here');
    const odd = (await reader.get(`${page}?kind=webhook.test&after=x`)).payload;
    expect(withoutFormToken(odd)).toBe(withoutFormToken(first));
  });

  it('cost a page a look at the index of its organisation, also where many are its own and seen, and others were told more since', async () => {
    const reader = { orgId: org, personId: (await newPart('owner')).id };
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      await client.query(
        `insert into event (id, org_id, type, data, at)
         select event_id_at(at) || lpad(i::text, 10, '0'), case when i <= 5000 then $1 else 'org_' || i % 40 end, 'x', '{}', at
           from generate_series(1, 20000) i, lateral (select now() - interval '60 days' + i * interval '1 minute' as at) t`,
        [org],
      );
      await client.query('analyze event');
      const sent: [string, unknown[]][] = [];
      const listening = {
        query: (...given: [string, unknown[]]) => {
          sent.push(given);
          return client.query(...given);
        },
      } as unknown as Pool;
      expect(await createNotifications(listening).unread(reader)).toBe(0);
      const [text, values] = sent.at(-1)!;
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      expect(plan).toContain('using event_by_organisation on event');
      expect(plan).not.toMatch(/Seq Scan on event|event_pkey/);
    } finally {
      await client.query('rollback');
      client.release();
    }
  });

  it('show what a person has named as text, and of what a newer build has written its type', async () => {
    const reader = await signedIn('owner');
    const { key } = WEBHOOK_EVENTS['key.leaked'].example;
    await happens('key.leaked', { key: { ...key, name: '<img src=x>' } });
    await happens('a.newer.type' as Told, { some: 'thing' });
    const { payload, statusCode } = await reader.get(page);
    expect(statusCode).toBe(200);
    expect(payload).toContain('&#60;img src=x&#62;');
    expect(payload).toContain('<code>a.newer.type</code>');
  });
});
