import { HISTORY_LENGTH } from '#api/dashboard/keys/activity.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '#shared/kernel/time.ts';
import { USAGE_FIGURES } from '#shared/ledger/usage-columns.ts';
import type { Person } from '#shared/persons/roles.ts';
import { USAGE_ROWS_MAX } from '#shared/receipts/usage.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { refusedRow, requestRow } from '#test/support/requests.ts';
import { createRequestReader, writeRequests } from '#shared/requests/postgres/requests.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, dashboard, errors } = await openDashboardEdge(database);
let orgId: string;
let otherOrgId: string;
let owner: Person;
const visitors = {} as Record<'owner' | 'member' | 'auditor' | 'stranger', TestBrowser>;

beforeAll(async () => {
  orgId = (await activeAccount(registries)).id;
  otherOrgId = (await activeAccount(registries)).id;
  let last = 100;
  const signedIn = async (person: Person): Promise<TestBrowser> => {
    const visitor = browser({ address: `192.0.2.${(last += 1)}` });
    await visitor.signIn(person);
    return visitor;
  };
  const inOrg = (role: 'owner' | 'member' | 'auditor', name?: string): Promise<Person> =>
    newPerson(database.pool, [{ kind: 'organisation', orgId, role }], name);
  owner = await inOrg('owner', '<b>Olivia</b> & "Co"');
  visitors.owner = await signedIn(owner);
  visitors.member = await signedIn(await inOrg('member'));
  visitors.auditor = await signedIn(await inOrg('auditor'));
  visitors.stranger = await signedIn(
    await newPerson(database.pool, [{ kind: 'organisation', orgId: otherOrgId, role: 'owner' }]),
  );
});

async function newKey(of = orgId): Promise<string> {
  return (await registries.keys.issue(of, { name: 'Some key' }, OPERATOR)).key.id;
}

/** What a browser asks for a page with that it is led to from there. */
const ledFrom = (site: string) => ({
  'accept-encoding': 'gzip',
  'sec-fetch-site': site,
  'sec-fetch-dest': 'document',
});

it('a page is compressed for who comes from our pages, and not for who was sent by another site [dashboard.compressed, dashboard.budget]', async () => {
  const page = `/dashboard/${orgId}/overview`;
  const coded = async (site: string) => {
    const { statusCode, headers } = await visitors.owner.get(page, ledFrom(site));
    expect(statusCode).toBe(200);
    return headers['content-encoding'];
  };
  expect(await coded('same-origin')).toBe('gzip');
  expect(await coded('none')).toBe('gzip');
  expect(await coded('cross-site')).toBeUndefined();
  expect(errors).toEqual([]);
});

it('a page on which a secret is shown is never compressed: of a new key, a webhook, an authenticator app [dashboard.compressed]', async () => {
  const { owner: one } = visitors;
  const shownAt = async (place: string, fields: Record<string, string>): Promise<string> => {
    const made = await one.send(place, place.replace(/\/new$/, ''), fields);
    const shown = await one.get(made.headers.location as string, ledFrom('same-origin'));
    expect(shown.headers['content-encoding']).toBeUndefined();
    return shown.payload;
  };
  const key = { name: 'Shown once', scope: 'inference:read' };
  expect(await shownAt(`/dashboard/${orgId}/keys/new`, key)).toMatch(/dkt_\w{38}/);
  const hook = { address: 'https://hooks.example/x', description: '', event: 'key.leaked' };
  expect(await shownAt(`/dashboard/${orgId}/webhooks`, hook)).toContain('whsec_');
  const account = '/dashboard/account';
  const form = formTokenOf((await one.get(account)).payload);
  const begin = `${account}/second-factor/begin`;
  const begun = await one.post(begin, { form, current: PASSWORD }, ledFrom('same-origin'));
  expect(begun.payload).toContain('id="recovery-codes"');
  expect(errors).toEqual([]);
});

describe('keys', () => {
  it('a key is created and shown once, works, is rotated, revoked with a reason and restored; the log names the person [dashboard.keys]', async () => {
    const keys = `/dashboard/${orgId}/keys`;
    const created = await visitors.owner.send(`${keys}/new`, keys, {
      name: 'Nightly batch',
      scope: ['inference:read', 'service:read'],
    });
    expect(created.statusCode).toBe(303);
    const once = created.headers.location as string;
    const cookie = created.cookies[0] as { value: string };
    const shown = await visitors.owner.get(once);
    const secret = /dkt_\w{38}/.exec(shown.payload)![0];
    expect(`${once} ${cookie.value}`).not.toContain(secret);
    const id = new RegExp(`${keys}/(key_\\w+)`).exec(once)![1]!;
    const address = `${keys}/${id}`;
    // A reload issues no other key, and shows this one to no visitor: not even to one who brings the cookie to another session.
    expect((await visitors.owner.get(once)).headers.location).toBe(`${address}?done=issued`);
    visitors.member.cookies.set('docket_issued', cookie.value);
    expect((await visitors.member.get(once)).statusCode).toBe(303);
    visitors.member.cookies.delete('docket_issued');
    for (const page of [keys, address]) {
      expect((await visitors.owner.get(page)).payload).not.toContain(secret);
    }
    const sent = await visitors.owner.send(address, `${address}/rotate`);
    const rotated = await visitors.owner.get(sent.headers.location as string);
    expect(/dkt_\w{38}/.exec(rotated.payload)![0]).not.toBe(secret);
    const revoked = await visitors.owner.send(address, `${address}/revoke`, {
      why: 'rotated',
      note: 'as planned',
    });
    expect(revoked.headers.location).toBe(`${address}?done=revoked`);
    expect((await registries.keys.get(orgId, id)).state).toBe('revoked');
    const told = async (done: string): Promise<string | undefined> =>
      /Key (?:revoked|restored|marked)[^.:]*/.exec(
        (await visitors.owner.get(`${address}?done=${done}`)).payload,
      )?.[0];
    expect(await told('revoked')).toBe('Key revoked');
    expect(await told('restored')).toBeUndefined();
    expect(await told('leaked')).toBeUndefined();
    await visitors.owner.send(address, `${address}/restore`);
    expect((await registries.keys.get(orgId, id)).state).toBe('active');
    // A page that is loaded again after another act does not go on saying what the one before has done.
    expect(await told('restored')).toBe('Key restored');
    expect(await told('revoked')).toBeUndefined();
    const log = await registries.audit.list({ orgId, limit: 4, order: 'desc' });
    expect(log.items.map(({ action, reason }) => [action, reason])).toEqual([
      ['key.restored', null],
      ['key.revoked', 'rotated: as planned'],
      ['key.rotated', null],
      ['key.issued', null],
    ]);
    expect(new Set(log.items.map(({ actorId, address: at }) => `${actorId} ${at}`))).toEqual(
      new Set([`${owner.id} 192.0.2.101`]),
    );
  });

  it('a key’s page has what was asked with it, its use and its acts, and of no other key; a limit and a name are its own [dashboard.keys]', async () => {
    const keys = `/dashboard/${orgId}/keys`;
    const fields = { name: 'Weekly report', scope: ['inference:write'] };
    const refused = await visitors.owner.send(`${keys}/new`, keys, { ...fields, rate: '0.5' });
    expect(refused.statusCode).toBe(400);
    expect(refused.payload).toContain('whole numbers of at least 1');
    const created = await visitors.owner.send(`${keys}/new`, keys, { ...fields, rate: '2' });
    const id = /key_\w+/.exec(created.headers.location as string)![0];
    expect((await registries.keys.get(orgId, id)).limit).toEqual({
      requestsPerSecond: 2,
      burst: 8,
    });
    const other = await newKey();
    const asked = [
      requestRow({ orgId, keyId: id, network: '2001:db8:1:2::/64' }),
      requestRow({ orgId, keyId: other, network: '198.51.100.9' }),
      refusedRow({ orgId, keyId: id, requests: 7 }),
    ];
    await writeRequests(database.pool, asked);
    const address = `${keys}/${id}`;
    const renamed = await visitors.owner.send(address, `${address}/rename`, {
      name: ' Monthly ',
    });
    expect(renamed.headers.location).toBe(`${address}?done=renamed`);
    const { payload } = await visitors.owner.get(address);
    expect(asked.map((row) => payload.includes(row.id))).toEqual([true, false, true]);
    expect(payload).toMatch(/Created by<\/dt>\s*<dd>&#60;b&#62;Olivia/);
    // Of its newest: from where, and how they failed.
    expect(payload).toMatch(/2001:db8:1:2::\/64<\/code>\s*<span class="soft">1</);
    expect(payload).toMatch(/requests_per_second_exceeded<\/code><\/a\s*>\s*<span class="soft">7</);
    expect(payload).not.toContain('198.51.100.9');
    expect(payload).toContain('<h1>Monthly</h1>');
    expect(payload).toMatch(/key\.renamed[^]*key\.issued/);
    expect(payload).toContain('No request with this key has a receipt');
    const log = await registries.audit.list({ orgId, limit: 1, order: 'desc', subject: id });
    expect(JSON.parse(log.items[0]!.details)).toEqual({
      before: 'Weekly report',
      name: 'Monthly',
    });
    // Who reads no audit log is not told of it by the page either, and names no key.
    const seen = (await visitors.member.get(address)).payload;
    expect([seen.includes('key.renamed'), seen.includes('Rename')]).toEqual([false, false]);
    const forbidden = await visitors.member.send(address, `${address}/rename`, { name: 'Mine' });
    expect(forbidden.statusCode).toBe(403);
    const empty = await visitors.owner.send(address, `${address}/rename`, { name: ' ' });
    expect([empty.statusCode, /name of 1 to/.test(empty.payload)]).toEqual([400, true]);
  });

  it('a key’s page has its own use, however many other keys were used [dashboard.keys]', async () => {
    const id = await newKey(otherOrgId);
    const figures = USAGE_FIGURES.map((name) => `, ${name}`).join('');
    const values = USAGE_FIGURES.map((name) => (name === 'covered' ? ', 7' : ', 0')).join('');
    await database.pool.query(
      `insert into usage_day (org_id, at, model, region, key_id, tier, quality, first_index, last_index ${figures})
         select $1, date_trunc('day', now(), 'UTC'), 'm', 'r', key, '', '', 0, 0 ${values}
         from (select $2 union all select 'key_' || n from generate_series(1, $3::int) n) k (key)`,
      [otherOrgId, id, USAGE_ROWS_MAX + 1],
    );
    const page = (await visitors.stranger.get(`/dashboard/${otherOrgId}/keys/${id}`)).payload;
    expect(page).not.toContain('No request with this key');
    expect(page).toMatch(/: 7 requests/);
  });

  it('a key’s page has its requests of the day before its last use, and looks through no others [dashboard.keys]', async () => {
    const keyId = await newKey();
    const used = Date.now() - 5 * DAY_MS;
    const asked = [DAY_MS / 2, 2 * DAY_MS, -2 * DAY_MS].map((before) =>
      requestRow({ orgId, keyId, at: used - before }),
    );
    await writeRequests(database.pool, asked);
    await database.pool.query('update api_key set last_used_at = $2 where id = $1', [
      keyId,
      new Date(used),
    ]);
    const { payload } = await visitors.member.get(`/dashboard/${orgId}/keys/${keyId}`);
    expect(asked.map((row) => payload.includes(row.id))).toEqual([true, false, false]);
    expect(payload).toContain(`/requests?key=${keyId}"`);
    // Of a key whose request is older than all that are looked through, that none was found is not that there is none.
    const rare = await newKey();
    await database.pool.query('update api_key set last_used_at = now() where id = $1', [rare]);
    const now = Date.now();
    await writeRequests(database.pool, [
      requestRow({ orgId, keyId: rare, at: now - DAY_MS / 2 }),
      ...Array.from({ length: 200 }, () => requestRow({ orgId, keyId, at: now })),
    ]);
    const { list } = dashboard.requests;
    dashboard.requests.list = createRequestReader(database.pool, 1).list;
    const among = (await visitors.member.get(`/dashboard/${orgId}/keys/${rare}`)).payload;
    dashboard.requests.list = list;
    expect(among).toMatch(/None of the newest 200.000 requests of the organisation/);
    expect(among).not.toContain('No requests are on record');
  });

  it('a key’s page says that its audit log has more acts only where it has [dashboard.keys]', async () => {
    const id = await newKey();
    const saysMore = async (): Promise<boolean> =>
      (await visitors.owner.get(`/dashboard/${orgId}/keys/${id}`)).payload.includes(
        'these are the newest',
      );
    // To issue it was the first.
    for (let acts = 1; acts < HISTORY_LENGTH; acts += 1)
      await registries.keys.rename(orgId, id, `Name ${acts}`, OPERATOR);
    expect(await saysMore()).toBe(false);
    await registries.keys.rename(orgId, id, 'Another', OPERATOR);
    expect(await saysMore()).toBe(true);
  });

  it('a rotation stands at the old key’s address, goes on by what both keys are used for, and ends with the old one; a lost successor is replaced [dashboard.keys]', async () => {
    const keys = `/dashboard/${orgId}/keys`;
    const id = await newKey();
    const rotation = `${keys}/${id}/rotation`;
    const used = (key: string, ago: string) =>
      database.pool.query('update api_key set last_used_at = now() - $2::interval where id = $1', [
        key,
        ago,
      ]);
    const step = async (by = visitors.owner): Promise<string> => {
      const page = (await by.get(rotation)).payload;
      return /aria-current="step".*?<span>([^<]+)/s.exec(page)?.[1] ?? 'none';
    };
    const issue = async (): Promise<string> => {
      const sent = await visitors.owner.send(rotation, `${keys}/${id}/rotate`);
      const shown = (await visitors.owner.get(sent.headers.location as string)).payload;
      expect(shown).toContain(`href="${rotation}"`);
      return /keys\/(key_\w+)\/issued/.exec(sent.headers.location as string)![1]!;
    };
    await used(id, '1 minute');
    expect(await step()).toBe('Issue the successor');
    const lost = await issue();
    const revoke = (key: string) =>
      visitors.owner.send(rotation, `${keys}/${key}/revoke`, { why: 'rotated', rotation: id });
    const told = async (done: string): Promise<string> =>
      (await visitors.owner.get(`${rotation}?done=${done}`)).payload;
    expect(await told('issued')).toContain('The new key was shown once');
    expect(await told('revoked')).not.toContain('Key revoked');
    expect((await revoke(lost)).headers.location).toBe(`${rotation}?done=revoked`);
    expect(await told('revoked')).toContain('Key revoked');
    expect(await told('issued')).not.toContain('The new key was shown once');
    expect(await step()).toBe('Issue the successor');
    const successor = await issue();
    expect(await step()).toBe('Deploy it');
    await used(successor, '5 seconds');
    expect(await step(visitors.auditor)).toBe('Confirm traffic');
    await used(id, '2 hours');
    expect(await step()).toBe('Revoke the old key');
    // A visitor who comes by another way finds it.
    for (const page of [keys, `${keys}/${id}`, `${keys}/${successor}`]) {
      expect((await visitors.member.get(page)).payload).toContain(`href="${rotation}"`);
    }
    const seen = (await visitors.auditor.get(rotation)).payload;
    expect(seen).not.toContain(`action="${keys}`);
    expect((await visitors.stranger.get(rotation)).statusCode).toBe(404);
    await revoke(id);
    expect((await visitors.owner.get(rotation)).payload).toContain('The rotation is complete');
    expect((await registries.keys.get(orgId, successor)).state).toBe('active');
  });

  it('an organisation’s admin may grant admin:keys; no admin grants what is beyond the plan [dashboard.keys]', async () => {
    const keys = `/dashboard/${orgId}/keys`;
    const scope = 'admin:keys';
    const granted = await visitors.owner.send(`${keys}/new`, keys, { name: 'Automation', scope });
    expect(granted.statusCode).toBe(303);
    const { id } = await activeAccount(registries, 'audit');
    const small = await newPerson(database.pool, [
      { kind: 'organisation', orgId: id, role: 'owner' },
    ]);
    const visitor = browser({ address: '192.0.2.150' });
    await visitor.signIn(small);
    const theirs = `/dashboard/${id}/keys`;
    expect((await visitor.get(`${theirs}/new`)).payload).toContain(
      'on the Audit Plus plan and above',
    );
    const refused = await visitor.send(`${theirs}/new`, theirs, { name: 'Automation', scope });
    expect(refused.statusCode).toBe(400);
    expect(refused.payload).toContain('The key was not created');
  });

  it('a form that is wrong comes back with what was typed and what is wrong with it [dashboard.keys]', async () => {
    const keys = `/dashboard/${orgId}/keys`;
    for (const [field, fields] of [
      ['name', { name: '' }],
      ['name', { name: 'x'.repeat(101) }],
      ['expires', { name: 'Fine', expires: '2020-01-01' }],
      ['expires', { name: 'Fine', expires: 'tomorrow' }],
      ['scope', { name: 'Fine', scope: 'root' }],
    ] as const) {
      const reply = await visitors.owner.send(`${keys}/new`, keys, {
        scope: 'inference:read',
        ...fields,
      });
      expect(reply.statusCode).toBe(400);
      expect(reply.payload).toContain('The key was not created');
      expect(reply.payload).toContain(`value="${fields.name}"`);
      // Summed up on top with a link that leads to the field, and said beside it.
      for (const part of [`href="#${field}"`, `id="${field}"`, `id="${field}-error"`]) {
        expect(reply.payload).toContain(part);
      }
    }
    expect(errors).toEqual([]);
  });

  it('a key that leaked is not restored by its organisation, and its page does not offer it [dashboard.keys]', async () => {
    const address = `/dashboard/${orgId}/keys/${await newKey()}`;
    await visitors.owner.send(address, `${address}/revoke`, { leaked: 'yes' });
    const { payload } = await visitors.owner.get(address);
    expect(payload).toContain('Only support can restore it');
    expect(payload).not.toContain('Restore key');
    const restored = await visitors.owner.send(address, `${address}/restore`);
    expect(restored.statusCode).toBe(409);
    expect(restored.payload).toContain('leaked');
    // Found out later, of a key that was only not needed any more.
    const later = `/dashboard/${orgId}/keys/${await newKey()}`;
    await visitors.owner.send(later, `${later}/revoke`, { why: 'not used any more' });
    expect((await visitors.owner.get(later)).payload).toContain('Restore key');
    await visitors.owner.send(later, `${later}/revoke`, { leaked: 'yes' });
    expect((await visitors.owner.get(later)).payload).not.toContain('Restore key');
  });
});

describe('who may what', () => {
  it('another organisation, its keys and one that does not exist are the same 404, read and written [dashboard.organisations]', async () => {
    const id = await newKey();
    const pages: string[] = [];
    const theirs = `/dashboard/${otherOrgId}/keys`;
    const form = /name="form" value="([^"]+)"/.exec(
      (await visitors.stranger.get(theirs)).payload,
    )![1]!;
    for (const [page, act] of [
      [`/dashboard/${orgId}/keys`, undefined],
      [`/dashboard/${orgId}/keys/${id}`, undefined],
      ['/dashboard/org_01JD0A9F6R4N8P1S5VZC7B2DEG/keys', undefined],
      [`${theirs}/${id}`, undefined],
      [`${theirs}/key_none`, undefined],
      [`/dashboard/${orgId}/keys/${id}/revoke`, 'revoke'],
      [`${theirs}/${id}/revoke`, 'revoke'],
      [`${theirs}/${id}/rotate`, 'rotate'],
      [`${theirs}/${id}/restore`, 'restore'],
    ] as const) {
      const { statusCode, payload } = await (act === undefined
        ? visitors.stranger.get(page)
        : visitors.stranger.post(page, { form }));
      expect([page, statusCode]).toEqual([page, 404]);
      pages.push(payload.replaceAll(/req_\w+/g, ''));
    }
    expect(new Set(pages).size).toBe(1);
    expect((await registries.keys.get(orgId, id)).state).toBe('active');
  });

  it('a member and an auditor see keys, and cannot create, rotate, revoke or restore one [dashboard.roles]', async () => {
    const id = await newKey();
    const keys = `/dashboard/${orgId}/keys`;
    for (const visitor of [visitors.member, visitors.auditor]) {
      const page = (await visitor.get(`${keys}/${id}`)).payload;
      expect(page).not.toContain('Revoke');
      expect((await visitor.get(`${keys}/new`)).statusCode).toBe(403);
      const form = /name="form" value="([^"]+)"/.exec(page)![1]!;
      const before = (await registries.keys.list({ orgId, limit: 100, order: 'desc' })).items;
      for (const path of ['', `/${id}/rotate`, `/${id}/revoke`, `/${id}/restore`]) {
        const reply = await visitor.post(keys + path, { form, name: 'mine', leaked: 'yes' });
        expect(reply.statusCode).toBe(403);
      }
      const after = (await registries.keys.list({ orgId, limit: 100, order: 'desc' })).items;
      expect(after).toEqual(before);
    }
  });

  it('who is no longer a member sees nothing with the next request [dashboard.roles]', async () => {
    const person = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'admin' }]);
    const visitor = browser({ address: '192.0.2.151' });
    await visitor.signIn(person);
    expect((await visitor.get(`/dashboard/${orgId}/keys`)).statusCode).toBe(200);
    await database.pool.query('delete from persons.membership where person_id = $1', [person.id]);
    expect((await visitor.get(`/dashboard/${orgId}/keys`)).statusCode).toBe(404);
  });

  it('an API key opens no page, and a session nothing under /v1 [dashboard.roles]', async () => {
    const { app } = await openDashboardEdge(database);
    const { plaintext } = await registries.keys.issue(orgId, { name: 'a' }, OPERATOR);
    const page = await app.inject({
      url: `/dashboard/${orgId}/keys`,
      headers: { authorization: `Bearer ${plaintext}` },
    });
    expect(page.statusCode).toBe(303);
    expect((await visitors.owner.get('/v1/keys')).statusCode).toBe(401);
  });
});

describe('what an act says when it is done', () => {
  it('an address that names no act says nothing, also where objects have a member of that name [dashboard.forms]', async () => {
    const key = `/dashboard/${orgId}/keys/${await newKey()}`;
    for (const address of [key, '/dashboard/account']) {
      for (const name of ['__proto__', 'constructor', 'nothing']) {
        const { statusCode, payload } = await visitors.owner.get(`${address}?done=${name}`);
        expect([address, name, statusCode]).toEqual([address, name, 200]);
        expect(payload).not.toContain('class="note good"');
      }
    }
  });
});

describe('the audit log and the team', () => {
  it('the audit log is filtered by days, person and thing, and refuses what is not known; things lead to their pages [dashboard.forms]', async () => {
    const id = await newKey();
    const address = `/dashboard/${orgId}/keys/${id}`;
    await visitors.owner.send(address, `${address}/revoke`, { why: 'rotated', note: 'filtered' });
    const { items } = await registries.audit.list({ orgId, limit: 1, order: 'desc' });
    const dayOf = (days: number): string =>
      new Date(items[0]!.at + days * 86_400_000).toISOString().slice(0, 10);
    const log = `/dashboard/${orgId}/audit-log`;
    const revoked = `subject=${id}&action=key.revoked`;
    for (const [query, isShown] of [
      [revoked, true],
      [`${revoked}&actor=${owner.id}`, true],
      [`${revoked}&from=${dayOf(0)}&to=${dayOf(0)}`, true],
      [`${revoked}&to=${dayOf(-1)}`, false],
      [`${revoked}&from=${dayOf(1)}`, false],
      [`subject=${id}&action=key.restored`, false],
    ] as const) {
      const page = await visitors.auditor.get(`${log}?${query}`);
      expect([query, page.statusCode]).toEqual([query, 200]);
      expect([query, page.payload.includes(`href="${address}"`)]).toEqual([query, isShown]);
      expect([query, page.payload.includes('Nothing matches these filters')]).toEqual([
        query,
        !isShown,
      ]);
      const file = await visitors.auditor.get(`${log}.csv?${query}`);
      expect([query, file.payload.includes(id)]).toEqual([query, isShown]);
    }
    // An operator has issued it.
    const issued = `subject=${id}&action=key.issued`;
    const others = await visitors.auditor.get(`${log}?${issued}&actor=${owner.id}`);
    expect(others.payload).toContain('Nothing matches these filters');
    expect(others.payload).toContain(`<option value="${owner.id}" selected>`);
    expect((await visitors.auditor.get(`${log}?${issued}`)).payload).toContain(`href="${address}"`);
    // The auditor is known here, and has done nothing.
    const [auditor] = (
      await database.pool.query<{ person_id: string }>(
        `select person_id from persons.membership where org_id = $1 and role = 'auditor'`,
        [orgId],
      )
    ).rows;
    const idle = await visitors.auditor.get(`${log}?actor=${auditor!.person_id}`);
    expect(idle.payload).toContain('Nothing matches these filters');
    for (const query of [
      'action=key.revokd',
      'from=x',
      'to=2026-02-31',
      'from=2026-02-02&to=2026-02-01',
      'actor=usr_none',
      'subject=key_none',
      `subject=${await newKey(otherOrgId)}`,
    ]) {
      for (const path of [log, `${log}.csv`]) {
        const { statusCode } = await visitors.auditor.get(`${path}?${query}`);
        expect([path, query, statusCode]).toEqual([path, query, 400]);
      }
    }
  });

  it('the audit log names the person who acted; a member does not read it [dashboard.keys, dashboard.roles]', async () => {
    const address = `/dashboard/${orgId}/keys/${await newKey()}`;
    await visitors.owner.send(address, `${address}/revoke`, {
      why: 'rotated',
      leaked: 'yes',
      note: 'in a log',
    });
    const log = `/dashboard/${orgId}/audit-log`;
    const { payload } = await visitors.auditor.get(`${log}?action=key.revoked`);
    expect(payload).toContain('leaked: in a log');
    // What was asked for is said in words: a printed page has no filters.
    expect(payload).toMatch(
      /key\.revoked:\s+(all \d+|\d+) of them[^.]*entries \d+ to \d+ of the log/,
    );
    expect(payload).toContain('&#60;b&#62;Olivia&#60;/b&#62;');
    expect(payload).not.toContain('key.issued</code></td>');
    expect((await visitors.member.get(log)).statusCode).toBe(403);
    const file = await visitors.auditor.get(`${log}.csv?action=key.revoked`);
    expect(file.headers['content-type']).toContain('text/csv');
    expect(file.payload).toContain('"<b>Olivia</b> & ""Co""",key.revoked,');
    expect(file.payload).toContain('in a log');
    expect(file.payload).toContain('""leaked"":true');
    expect(file.payload).not.toContain('key.issued');
    const whole = (await visitors.auditor.get(`${log}.csv`)).payload;
    expect(whole).toContain('key.issued');
    expect(whole).not.toContain(otherOrgId);
    for (const [visitor, status] of [
      [visitors.member, 403],
      [visitors.stranger, 404],
    ] as const) {
      expect((await visitor.get(`${log}.csv`)).statusCode).toBe(status);
      expect((await visitor.get(`${log}.json`)).statusCode).toBe(status);
    }
    expect((await visitors.stranger.get(log)).statusCode).toBe(404);
    // The signed head stands beside it, to be kept.
    expect((await visitors.auditor.get(log)).payload).toContain('The head of this log is signed');
    expect((await visitors.auditor.get(`${log}/checkpoint.txt`)).statusCode).toBe(404);
    const note = `gateway.example/audit/${orgId}\n7\n${'ab'.repeat(22)}\n\n— signed\n`;
    await database.pool.query(
      `insert into audit_checkpoint (log_id, size, hash, note) values ($1, 7, sha256('x'), $2)`,
      [`audit/${orgId}`, note],
    );
    expect((await visitors.auditor.get(log)).payload).toMatch(/7 acts,\s+not anchored yet/);
    // All of it, in order, as the API lists it, for the verifier; which is led to where there is a head.
    expect((await visitors.auditor.get(log)).payload).toContain(`href="/verify#${log}"`);
    const all = JSON.parse((await visitors.auditor.get(`${log}.json`)).payload);
    expect(all).toMatchObject({ object: 'list', has_more: false });
    expect(all.data.length).toBeGreaterThan(7);
    expect(all.data.map(({ sequence }: { sequence: number }) => sequence)).toEqual([
      ...all.data.keys(),
    ]);
    expect((await visitors.auditor.get(`${log}/checkpoint.txt`)).payload).toBe(note);
    for (const path of ['checkpoint.txt', 'anchor.json']) {
      expect((await visitors.auditor.get(`${log}/anchor.json`)).statusCode).toBe(404);
      expect((await visitors.member.get(`${log}/${path}`)).statusCode).toBe(403);
      expect((await visitors.stranger.get(`${log}/${path}`)).statusCode).toBe(404);
    }
    // An address that was changed by hand is no error.
    for (const query of [
      '?after=aud_none',
      '?action=%00',
      '?action=x&action=y',
      '?after=a&after=b',
    ]) {
      expect((await visitors.owner.get(log + query)).statusCode).toBeLessThan(500);
    }
  });

  it('the team lists members of this organisation and of no other [dashboard.organisations]', async () => {
    const { payload } = await visitors.member.get(`/dashboard/${orgId}/team`);
    expect(payload).toContain(owner.email);
    expect((await visitors.stranger.get(`/dashboard/${orgId}/team`)).statusCode).toBe(404);
    const theirs = (await visitors.stranger.get(`/dashboard/${otherOrgId}/team`)).payload;
    expect(theirs).not.toContain(owner.email);
  });
});

describe('every page', () => {
  it('what a person typed is text, in every place that shows it [dashboard.escaped]', async () => {
    const name = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
    const keys = `/dashboard/${orgId}/keys`;
    const created = await visitors.owner.send(`${keys}/new`, keys, {
      name,
      scope: 'inference:read',
    });
    const issued = await visitors.owner.get(created.headers.location as string);
    const id = new RegExp(`${keys}/(key_\\w+)`).exec(issued.payload)![1]!;
    const wrong = await visitors.owner.send(`${keys}/new`, keys, { name, scope: name });
    const pages = [issued.payload, wrong.payload];
    for (const page of [keys, `${keys}/${id}`, '/dashboard/account']) {
      pages.push((await visitors.owner.get(page)).payload);
    }
    const visitor = browser({ address: '192.0.2.152' });
    pages.push((await visitor.signIn({ email: `"><script>alert(3)</script>` })).payload);
    pages.push(
      (await visitor.get(`/dashboard/password/reset?token=${encodeURIComponent(name)}`)).payload,
    );
    for (const page of pages) {
      expect(page).not.toMatch(/<script>|<img|<b>Olivia/);
      expect(page.match(/<script/g)).toHaveLength(1);
    }
  });

  it('pages carry no script or style of their own, allow none, are kept by no cache, and come by TLS from then on [dashboard.escaped]', async () => {
    const keys = `/dashboard/${otherOrgId}/keys`;
    for (const address of [
      keys,
      `${keys}/new`,
      `${keys}/${await newKey(otherOrgId)}`,
      '/dashboard/account',
      '/dashboard/sign-in',
      `${keys}/none`,
    ]) {
      const { headers, payload } = await visitors.stranger.get(address);
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['strict-transport-security']).toBe('max-age=31536000');
      const policy = headers['content-security-policy'] ?? '';
      if (headers.location === undefined) {
        expect(policy).toContain("default-src 'none'");
        expect(policy).not.toContain('unsafe');
        expect(payload).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:|<script>/);
      }
    }
    const runs = `/dashboard/${orgId}/playground`;
    for (const address of [runs, `${runs}/run`]) {
      const run = await visitors.owner.send(runs, address, { prompt: 'Hello' });
      expect([address, run.headers['strict-transport-security']]).toEqual([
        address,
        'max-age=31536000',
      ]);
    }
  });
});
