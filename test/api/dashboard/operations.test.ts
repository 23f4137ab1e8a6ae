import { beforeAll, describe, expect, it } from 'vitest';
import { createMailOutbox } from '#shared/accounts/postgres/mail.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Person } from '#shared/persons/roles.ts';
import {
  activeAccount,
  createRegistries,
  currentVetting,
  declaration,
  newAccount,
  OPERATOR,
  vetting,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  ageSessionsOf,
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { hashKey } from '#shared/keys/format.ts';
import { writeRequests } from '#shared/requests/postgres/requests.ts';
import { refusedRow } from '#test/support/requests.ts';
import { count } from '#shared/methodology/readable.ts';
import { inferenceLane, receiptsLane } from '#shared/lanes/keys.ts';
import type { Peer } from '#shared/lanes/redis/peers.ts';
import { index } from '#test/unit/catalogue/offer.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { accounts, vettings, keys, audit } = registries;
const peer = { startedAt: 0, shards: 1, writes: 1, reads: [1], catalogue: 'ab'.repeat(32) };
let readPeers: () => Promise<ReadonlyMap<string, Peer>> = async () => new Map();
let writeToRedis: () => Promise<unknown> = async () => {};
const { browser, errors, dashboard } = await openDashboardEdge(database, undefined, {
  index,
  operations: {
    writes: () => writeToRedis(),
    peers: () => readPeers(),
    laneDepths: async () => [
      {
        lane: inferenceLane(0, 'eu'),
        waiting: 1_234,
        running: 7,
        oldestAt: Date.now() - 90_000,
        waitingSince: null,
        setAside: 0,
      },
      {
        lane: receiptsLane(0),
        waiting: 0,
        running: 0,
        oldestAt: null,
        waitingSince: null,
        setAside: 3,
      },
    ],
    queues: {
      counts: async (name) => ({ failed: name === 'export' ? 2 : 0 }),
      lastRounds: async () =>
        new Map([['mail', { at: Date.now(), failure: 'no <i>server</i>', attempts: 2 }]]),
      failures: async (name) => [{ name, reason: 'the <b>store</b> is full', at: 0, attempts: 1 }],
    },
  },
});
const SERVICE = '/dashboard/service';

let otto: Person;
const visitors = {} as Record<'otto' | 'rita' | 'owner', TestBrowser>;

beforeAll(async () => {
  const pool = database.pool;
  const { id } = await activeAccount(registries);
  otto = await newPerson(pool, [{ kind: 'staff', role: 'operator' }], 'Otto Operator');
  const persons = {
    otto,
    rita: await newPerson(pool, [{ kind: 'staff', role: 'reviewer' }]),
    owner: await newPerson(pool, [{ kind: 'organisation', orgId: id, role: 'owner' }]),
  };
  let last = 10;
  for (const who of Object.keys(persons) as (keyof typeof persons)[]) {
    visitors[who] = browser({ address: `203.0.113.${(last += 1)}` });
    await visitors[who].signIn(persons[who]);
  }
});

describe('accounts, for operators', () => {
  it('an operator finds an account by name, contact or key, suspends and reinstates it with a reason, and the log names them [dashboard.operators]', async () => {
    const { id } = await activeAccount(registries);
    const { key, plaintext } = await keys.issue(id, { name: 'Some key' }, OPERATOR);
    for (const search of [id, 'harmless', 'technical@bakery', plaintext.slice(0, 8), key.id]) {
      const query = new URLSearchParams({ search, state: 'active' });
      const { payload } = await visitors.otto.get(`${SERVICE}/accounts?${query.toString()}`);
      expect(payload).toContain(`${SERVICE}/accounts/${id}`);
    }
    const none = await visitors.otto.get(`${SERVICE}/accounts?search=nothing-like-this`);
    expect(none.payload).toContain('No account matches');
    const address = `${SERVICE}/accounts/${id}`;
    const page = (await visitors.otto.get(address)).payload;
    for (const text of ['Bill Example', 'audit plus', '200 requests a second', 'Some key']) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain(plaintext);
    const silent = await visitors.otto.send(address, `${address}/suspend`);
    expect([silent.statusCode, (await accounts.get(id)).state]).toEqual([400, 'active']);
    expect(silent.payload).toContain('Enter a reason');
    await visitors.otto.send(address, `${address}/suspend`, { 'suspend-reason': 'unpaid' });
    expect((await accounts.get(id)).state).toBe('suspended');
    await visitors.otto.send(address, `${address}/reinstate`, { 'reinstate-reason': 'paid' });
    expect((await accounts.get(id)).state).toBe('active');
    const { items } = await audit.list({ orgId: id, limit: 2, order: 'desc' });
    expect(items.map(({ action, reason, actorId }) => [action, reason, actorId])).toEqual([
      ['account.reinstated', 'paid', otto.id],
      ['account.suspended', 'unpaid', otto.id],
    ]);
    expect((await visitors.otto.get(address)).payload).toContain('Otto Operator');
  });

  it('an operator begins and ends a legal hold and resets a second factor, each with its reason and ticket, and for no one who works for the service [dashboard.operators]', async () => {
    const { id } = await activeAccount(registries);
    const address = `${SERVICE}/accounts/${id}`;
    const part = { kind: 'organisation', orgId: id, role: 'member' } as const;
    const lost = await newPerson(database.pool, [part], 'Lost Device');
    const staff = await newPerson(database.pool, [part, { kind: 'staff', role: 'reviewer' }]);
    const act = (name: string, fields: Record<string, string> = {}) =>
      visitors.otto.send(address, `${address}/${name}`, fields);
    const silent = await act('hold');
    expect([silent.statusCode, (await accounts.get(id)).legalHold]).toEqual([400, false]);
    const why = { 'hold-reason': 'order 7', 'hold-ticket': 'T-1' };
    expect((await act('hold', why)).statusCode).toBe(303);
    expect((await accounts.get(id)).legalHold).toBe(true);
    await act('release', { 'release-reason': 'order lifted' });
    expect((await accounts.get(id)).legalHold).toBe(false);
    const holds = (await audit.list({ orgId: id, limit: 2, order: 'desc' })).items.toReversed();
    expect(holds.map(({ action, reason }) => [action, reason])).toEqual([
      ['account.legal_hold_set', 'order 7'],
      ['account.legal_hold_set', 'order lifted'],
    ]);
    expect(JSON.parse(holds[0]!.details)).toEqual({ legal_hold: true, ticket: 'T-1' });

    expect((await visitors.otto.get(address)).payload).not.toContain('Reset a second factor…');
    await database.pool.query(
      `update persons.person set two_factor_enabled = true where id = any ($1)`,
      [[lost.id, staff.id]],
    );
    expect((await visitors.otto.get(address)).payload).toContain('Reset a second factor…');
    const factors = async (): Promise<boolean[]> =>
      (
        await database.pool.query<{ has: boolean }>(
          'select two_factor_enabled as has from persons.person where id = any ($1) order by id',
          [[lost.id, staff.id]],
        )
      ).rows.map(({ has }) => has);
    const said = { 'reset-factor-reason': 'called back at the number of the contract' };
    const outside = await act('reset-factor', { ...said, member: otto.id });
    expect(outside.payload).toContain('There is no such member');
    const ofStaff = await act('reset-factor', { ...said, member: staff.id });
    expect(ofStaff.payload).toContain('works for the service');
    expect((await act('reset-factor', { member: lost.id })).statusCode).toBe(400);
    const common = { ...part, orgId: (await activeAccount(registries)).id };
    for (const one of [lost, otto]) await dashboard.persons.add(one, common, OPERATOR);
    const ofColleague = await act('reset-factor', { ...said, member: lost.id });
    expect(ofColleague.payload).toContain('You are a member of an organisation of this person');
    expect(await factors()).toEqual([true, true]);
    await dashboard.persons.remove(otto.email, common, OPERATOR);
    expect((await act('reset-factor', { ...said, member: lost.id })).statusCode).toBe(303);
    expect(await factors()).toEqual([false, true]);
  });

  it('an operator records a contract, activates, changes plan and limits, and closes; what is refused says why and changes nothing [dashboard.operators, accounts.onboarding]', async () => {
    const { id } = await accounts.create(newAccount(), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    await vettings.record(id, vetting());
    const address = `${SERVICE}/accounts/${id}`;
    const act = (name: string, fields: Record<string, string> = {}) =>
      visitors.otto.send(address, `${address}/${name}`, fields);
    const signed = { signatory: 'Bill Example', signed: '2026-01-02', digest: 'AB'.repeat(32) };
    for (const wrong of [{ digest: 'x' }, { signed: 'yesterday' }, { signed: '2999-01-01' }]) {
      expect((await act('sign', { ...signed, ...wrong })).statusCode).toBe(400);
    }
    await act('sign', signed);
    expect((await act('activate')).payload).toContain('were not screened');
    await vettings.record(id, await currentVetting(registries, id));
    await act('activate');
    expect((await act('limits', { rps: '9', burst: '9', day: '9', streams: '9' })).statusCode).toBe(
      400,
    );
    expect((await act('plan', { plan: 'free' })).statusCode).toBe(400);
    await act('plan', { plan: 'enterprise' });
    await act('limits', { rps: '9', burst: '10', day: '11', streams: '12' });
    expect(await accounts.get(id)).toMatchObject({
      state: 'active',
      plan: 'enterprise',
      negotiatedLimits: {
        requestsPerSecond: 9,
        burst: 10,
        requestsPerDay: 11,
        concurrentStreams: 12,
      },
    });
    // In the words of the form.
    for (const [fields, refusal] of [
      [{ rps: '9', burst: '', day: '', streams: '' }, 'Requests at once: a whole number from 1'],
      [
        { rps: '9', burst: '8', day: '9', streams: '9' },
        'Requests at once: no fewer than requests a second.',
      ],
    ] as const) {
      const refused = await act('limits', fields);
      expect(refused.statusCode).toBe(400);
      expect(refused.payload).toContain(`Nothing was done. ${refusal}`);
    }
    await act('limits', { rps: '', burst: '', day: '', streams: '' });
    expect((await accounts.get(id)).negotiatedLimits).toBeNull();
    await act('close', { 'close-reason': 'over' });
    expect((await accounts.get(id)).state).toBe('closed');
    expect((await visitors.otto.get(address)).payload).not.toContain('Suspend…');
    expect((await act('delete')).statusCode).toBe(404);
    expect((await act('constructor')).statusCode).toBe(404);
  });

  it('reviewers and owners have none of these pages; no operator acts on an organisation of their own, or by a form of another session [dashboard.operators, dashboard.roles]', async () => {
    const { id } = await activeAccount(registries);
    const address = `${SERVICE}/accounts/${id}`;
    for (const visitor of [visitors.rita, visitors.owner]) {
      const form = formTokenOf((await visitor.get('/dashboard/account')).payload);
      for (const path of [
        '/accounts',
        `/accounts/${id}`,
        '/look-up',
        '/health',
        '/regions',
        '/queues',
        '/policy',
      ]) {
        expect((await visitor.get(SERVICE + path)).statusCode).toBe(404);
      }
      for (const path of [
        `/accounts/${id}/suspend`,
        '/look-up/leaked',
        '/health/retry',
        '/health/letters',
        '/regions',
      ]) {
        const fields = { form, 'suspend-reason': 'because', leaked: 'ab'.repeat(32) };
        expect((await visitor.post(SERVICE + path, fields)).statusCode).toBe(404);
      }
    }
    const fields = { 'suspend-reason': 'because' };
    expect((await visitors.otto.post(`${address}/suspend`, fields)).statusCode).toBe(403);
    const both = await newPerson(database.pool, [
      { kind: 'staff', role: 'operator' },
      { kind: 'organisation', orgId: id, role: 'owner' },
    ]);
    const member = browser({ address: '203.0.113.90' });
    await member.signIn(both);
    expect((await member.send(address, `${address}/suspend`, fields)).statusCode).toBe(403);
    expect((await accounts.get(id)).state).toBe('active');
    for (const wrong of ['org_none', 'x']) {
      expect((await visitors.otto.get(`${SERVICE}/accounts/${wrong}`)).statusCode).toBe(404);
    }
  });
});

describe('looking up', () => {
  it('a key is found by its first characters, and by nothing that all keys begin with [dashboard.operators]', async () => {
    const { id } = await activeAccount(registries);
    const { key, plaintext } = await keys.issue(id, { name: '<b>Key</b>' }, OPERATOR);
    const lookUp = `${SERVICE}/look-up`;
    const find = async (q: string): Promise<string> =>
      (await visitors.otto.send(lookUp, lookUp, { q })).payload;
    const found = await find(plaintext.slice(0, 12));
    expect(found).toContain(key.id);
    expect(found).not.toContain(plaintext.slice(0, 9));
    expect(found).not.toContain('<b>Key');
    // What an address says of a key is not looked up.
    const asked = await visitors.otto.get(`${lookUp}?q=${plaintext.slice(0, 8)}`);
    expect(asked.payload).not.toContain(key.id);
    for (const [from, fields] of [
      [lookUp, { q: plaintext }],
      [lookUp, { q: `is it ${plaintext}?` }],
      [`${SERVICE}/accounts`, { search: plaintext }],
    ] as const) {
      const sent = await visitors.otto.send(from, from, fields);
      const { location } = sent.headers;
      expect(location ?? '').not.toContain('dkt_');
      const said = location === undefined ? sent : await visitors.otto.get(location);
      expect(said.payload).toContain('That is a whole key');
      expect(said.payload).toContain('action="/dashboard/service/look-up/leaked"');
      expect(said.payload).not.toContain(key.id);
      expect(said.payload).not.toContain(plaintext);
    }
    const list = `${SERVICE}/accounts`;
    const shown = await visitors.otto.send(list, list, {
      search: plaintext.slice(0, 20),
    });
    expect(shown.headers.location).toBe(`${list}?search=${plaintext.slice(0, 8)}`);
    expect((await visitors.otto.get(shown.headers.location!)).payload).toContain(id);
    for (const q of ['dkt_', 'dk', '%', 'dkt_%%%%', 'dkt_____']) {
      expect(await find(q)).toContain('No key begins with');
    }
    const receipt = '01JD0A9F6R4N8P1S5VZC7B2DEG';
    for (const q of [
      'req_none',
      'rcpt_<script>',
      `req_${receipt}`,
      // What client libraries show, and what receipts name themselves.
      `chatcmpl-${receipt}`,
      `resp_${receipt}`,
      `https://gateway.example/receipts/rcpt_${receipt}`,
    ]) {
      const page = await find(q);
      expect(page).toContain('Nothing is on record of this id');
      expect(page).not.toContain('<script>');
    }
  });

  it('what became of a refused request is found by its id, with whose it was and what the caller can do [dashboard.operators]', async () => {
    const { id, name } = await activeAccount(registries);
    const { key } = await keys.issue(id, { name: 'Refused' }, OPERATOR);
    const row = refusedRow({
      orgId: id,
      keyId: key.id,
      status: 400,
      code: 'invalid_model',
      requestedModel: '<b>none</b>',
    });
    await writeRequests(database.pool, [row]);
    const lookUp = `${SERVICE}/look-up`;
    const { payload } = await visitors.otto.send(lookUp, lookUp, { q: row.id });
    for (const text of [
      '400 invalid_model',
      'The model does not exist',
      `/accounts/${id}">${name}</a>`,
      `/dashboard/service/keys/${key.id}`,
    ]) {
      expect(payload.replaceAll(/\s+</g, '<').replaceAll(/\s+>/g, '>')).toContain(text);
    }
    expect(payload).not.toContain('<b>none');
  });

  it('a key that leaked is revoked by itself or by its hash, never shown again, and its organisation cannot restore it [dashboard.operators, accounts.support]', async () => {
    const { id } = await activeAccount(registries);
    for (const reportOf of [(text: string) => ` ${text}\n`, hashKey]) {
      const { key, plaintext } = await keys.issue(id, { name: 'Leaking' }, OPERATOR);
      const report = reportOf(plaintext);
      const send = () =>
        visitors.otto.send(`${SERVICE}/look-up`, `${SERVICE}/look-up/leaked`, {
          leaked: report,
          note: 'found in a repository',
        });
      const { statusCode, payload } = await send();
      expect(statusCode).toBe(200);
      expect(payload).toContain(
        `/accounts/${id}">${(await accounts.get(id)).name}</a> is marked as leaked`,
      );
      expect(payload).not.toContain(report.trim());
      expect((await keys.get(id, key.id)).state).toBe('revoked');
      const { items } = await audit.list({ orgId: id, limit: 1, order: 'desc' });
      expect(items[0]).toMatchObject({
        action: 'key.revoked',
        actorId: otto.id,
        reason: 'found in a repository',
        details: expect.stringContaining('"leaked":true'),
      });
      const owner = { kind: 'user', id: 'usr_1' } as const;
      await expect(keys.restore(id, key.id, owner)).rejects.toThrow(/leaked/);
      expect((await send()).payload).toContain('Nothing was done to');
    }
    const page = `${SERVICE}/look-up`;
    const leak = (leaked: string) => visitors.otto.send(page, `${page}/leaked`, { leaked });
    expect((await leak('ab'.repeat(32))).statusCode).toBe(404);
    expect((await leak('dkt_nonsense')).statusCode).toBe(400);
    expect((await leak('')).statusCode).toBe(400);
    expect(errors).toEqual([]);
  });
});

describe('a key that support is asked about', () => {
  it('is revoked, marked as leaked and restored with a reason, leaked or not; no operator does so to a key of their own organisation [dashboard.operators, accounts.support, dashboard.step-up]', async () => {
    const { id } = await activeAccount(registries);
    const { key } = await keys.issue(id, { name: 'Reported' }, OPERATOR);
    const address = `${SERVICE}/keys/${key.id}`;
    const act = async (name: string, fields: Record<string, string>) => {
      const reply = await visitors.otto.send(address, `${address}/${name}`, fields);
      const { location } = reply.headers;
      return location === undefined ? reply : visitors.otto.get(location);
    };
    const account = await visitors.otto.get(`${SERVICE}/accounts/${id}`);
    expect(account.payload).toContain(`href="${address}"`);
    expect((await act('revoke', {})).payload).toContain('Nothing was done. Say why.');
    expect((await keys.get(id, key.id)).state).toBe('active');
    for (const leaked of [{}, { leaked: 'yes' }]) {
      const revoked = await act('revoke', { 'revoke-reason': 'asked by telephone', ...leaked });
      expect(revoked.payload).toContain('refused everywhere within a second');
      expect(revoked.payload.includes('It leaked: restore it only if')).toBe('leaked' in leaked);
      const restored = await act('restore', { 'restore-reason': 'it was a test key' });
      expect(restored.payload).toContain('Key restored. It works again');
      expect(await keys.get(id, key.id)).toMatchObject({ state: 'active', leaked: false });
    }
    await act('revoke', { 'revoke-reason': 'not needed' });
    const marked = await act('revoke', { 'revoke-reason': 'in a log', leaked: 'yes' });
    expect(marked.payload).toContain('Key marked as leaked');
    expect(marked.payload).not.toContain('Mark as leaked');
    await accounts.suspend(id, OPERATOR, 'a test');
    const suspended = (await visitors.otto.get(address)).payload;
    expect(suspended).toContain('Keys of an account that is suspended are not restored');
    expect(suspended).not.toContain('Restore key');
    const { items } = await audit.list({ orgId: id, limit: 2, order: 'desc' });
    expect(items[1]).toMatchObject({
      action: 'key.leaked',
      actorId: otto.id,
      actorKind: 'operator',
      reason: 'in a log',
    });
    const both = await newPerson(database.pool, [
      { kind: 'staff', role: 'operator' },
      { kind: 'organisation', orgId: id, role: 'owner' },
    ]);
    const member = browser({ address: '203.0.113.91' });
    await member.signIn(both);
    expect((await member.get(address)).payload).toContain('someone else has to act on it');
    const fields = { 'restore-reason': 'mine' };
    expect((await member.send(address, `${address}/restore`, fields)).statusCode).toBe(403);
    expect((await visitors.otto.get(`${SERVICE}/keys/key_none`)).statusCode).toBe(404);
    expect(errors).toEqual([]);
  });
});

describe('the health of the service', () => {
  it('what waits for a person is shown, and a parked recalculation is tried again in the operator’s name [dashboard.operators]', async () => {
    const empty = (await visitors.otto.get(`${SERVICE}/health`)).payload;
    expect(empty).toContain('No list was imported');
    expect(empty).toContain('nothing has been given up');
    expect(empty).toContain('None has failed, and none has waited');
    const { id } = await activeAccount(registries);
    const { id: otherOrgId } = await activeAccount(registries);
    const receipt = newId('rcpt');
    await database.pool.query(
      `insert into ledger_body (entry_id, org_id, kind, issued_at, leaf_hash, body, input_tokens)
         values ($1, $2, 'degraded', now(), sha256('x'), 'x'::bytea, 1)`,
      [receipt, id],
    );
    await database.pool.query(
      `insert into recalculation (receipt_id, org_id, state, attempts, failed_at, stage, code, basis)
         values ($1, $2, 'parked', 9, now(), 'estimate', 'factor_missing', 'a catalogue')`,
      [receipt, id],
    );
    await database.pool.query(
      `insert into ledger_quarantine (entry_id, org_id, kind, leaf_hash, submitted_at, reason)
         values ($1, $2, 'degraded', sha256(''), now(), '<b>body_missing</b>')`,
      [receipt, id],
    );
    await database.pool.query(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, attempts, next_attempt_at, failed_at, failure)
         values ($1, 'ada@<b>bakery', 'An invitation', 'with a link', now(), 3, now(), null, '451 <i>later</i>'),
                (null, 'eve@bakery.example', 'A password', 'with a link', now(), 17, now(), now(), '550 unknown')`,
      [id],
    );
    const page = (await visitors.otto.get(`${SERVICE}/health`)).payload;
    for (const text of [
      'factor_missing',
      '&#60;b&#62;body_missing',
      'Try again',
      'ada@&#60;b&#62;bakery',
      'An invitation',
      '451 &#60;i&#62;later&#60;/i&#62;',
      'given up',
      '550 unknown',
    ]) {
      expect(page).toContain(text);
    }
    expect(page).not.toContain('with a link');
    const retry = (fields: Record<string, string>) =>
      visitors.otto.send(`${SERVICE}/health`, `${SERVICE}/health/retry`, fields);
    expect((await retry({ org: otherOrgId, receipt })).statusCode).toBe(404);
    expect((await retry({ org: id, receipt: '<script>' })).statusCode).toBe(404);
    const retried = await retry({ org: id, receipt });
    expect(retried.headers.location).toBe(`${SERVICE}/health?done=flagged`);
    expect((await visitors.otto.get(`${SERVICE}/health`)).payload).not.toContain('health/retry');
    const { items } = await audit.list({ orgId: id, limit: 1, order: 'desc' });
    expect(items[0]).toMatchObject({
      action: 'receipt.recalculation_requested',
      actorId: otto.id,
      subject: receipt,
    });
    expect(errors).toEqual([]);
  });

  it('an e-mail that was given up is sent when an operator has it tried again, in their name; one that waits or is none is not touched [dashboard.operators, dashboard.letters]', async () => {
    const { id } = await activeAccount(registries);
    await database.pool.query('delete from mail_outbox');
    const { rows } = await database.pool.query<{ id: string }>(
      `insert into mail_outbox (org_id, recipient, subject, body, created_at, attempts, next_attempt_at, failed_at, failure)
         values ($1, 'ada@bakery.example', 'An invitation', 'come in', now(), 3, now() + interval '1 hour', null, '451 later'),
                ($1, 'bob@bakery.example', 'A key', 'is revoked', now(), 17, now(), now(), '550 unknown'),
                (null, 'eve@bakery.example', 'A password', 'with a link', now(), 17, now(), now(), '550 unknown')
         returning id`,
      [id],
    );
    const [waiting, ofOrg, ofPerson] = rows.map((row) => row.id) as [string, string, string];
    const page = `${SERVICE}/health`;
    const shown = (await visitors.otto.get(page)).payload;
    expect([...shown.matchAll(/name="letter" value="(\d+)"/g)].map(([, of]) => of)).toEqual(
      expect.arrayContaining([ofOrg, ofPerson]),
    );
    expect(shown).not.toContain(`name="letter" value="${waiting}"`);
    const tryAgain = (letter: string) => visitors.otto.send(page, `${page}/letters`, { letter });
    expect((await visitors.otto.post(`${page}/letters`, { letter: ofOrg })).statusCode).toBe(403);
    for (const none of [waiting, '', '0', '9'.repeat(18), '1 or 1=1']) {
      expect((await tryAgain(none)).statusCode).toBe(404);
    }
    for (const letter of [ofOrg, ofPerson]) {
      expect((await tryAgain(letter)).headers.location).toBe(`${page}?done=letter`);
      // It is under way now.
      expect((await tryAgain(letter)).statusCode).toBe(404);
    }
    for (const [chain, subject] of [
      [id, ofOrg],
      [SERVICE_CHAIN, ofPerson],
    ] as const) {
      const { items } = await audit.list({ orgId: chain, limit: 1, order: 'desc' });
      expect(items[0]).toMatchObject({
        action: 'letter.tried_again',
        actorId: otto.id,
        subject,
      });
    }
    const sent: string[] = [];
    await createMailOutbox(database.poolAs('docket_housekeeping', 1), registries.clock, {
      supportEmail: 'support@docket.example',
      publicUrl: 'https://gateway.example',
    }).sendDue({ send: async ({ to }) => void sent.push(to), close: async () => {} }, 10);
    expect(sent.toSorted()).toEqual(['bob@bakery.example', 'eve@bakery.example']);
    expect(errors).toEqual([]);
  });
});

describe('the running service', () => {
  it('a region is set with a note for the public and a reason for the log, in the operator’s name; opening one asks for the password [dashboard.regions, dashboard.step-up]', async () => {
    const page = `${SERVICE}/regions`;
    const { regionStatuses } = dashboard.operations;
    await ageSessionsOf(otto, database.pool);
    const fields = {
      region: 'eu',
      status: 'degraded',
      note: 'Since <b>noon</b>.',
      reason: 'cooling',
    };
    const set = (over: Partial<typeof fields>) =>
      visitors.otto.send(page, page, { ...fields, ...over });
    const before = (await visitors.otto.get(page)).payload;
    // Regions of single organisations too.
    expect(before).toContain('dedicated');
    expect((await set({})).headers.location).toBe(`${page}?done=set`);
    expect(await regionStatuses.list()).toEqual(new Map([['eu', 'degraded']]));
    expect((await regionStatuses.notes()).get('eu')?.text).toBe('Since <b>noon</b>.');
    const shown = (await visitors.otto.get(page)).payload;
    expect(shown).toContain('Since &#60;b&#62;noon&#60;/b&#62;.');
    expect(shown).toMatch(/cooling\s*<\/td>/);
    const { items } = await audit.list({ orgId: SERVICE_CHAIN, limit: 1, order: 'desc' });
    expect(items[0]).toMatchObject({
      action: 'region.set',
      actorId: otto.id,
      subject: 'eu',
      reason: 'cooling',
    });
    expect(JSON.parse(items[0]!.details)).toEqual({
      status: 'degraded',
      note: 'Since <b>noon</b>.',
    });
    for (const [over, status] of [
      [{ status: 'normal' }, 403],
      [{ status: 'catalogue' }, 403],
      [{ status: 'open' }, 400],
      [{ reason: '' }, 400],
      [{ note: 'x'.repeat(501) }, 400],
      [{ region: 'mars' }, 404],
    ] as const) {
      expect((await set(over)).statusCode).toBe(status);
    }
    expect(await regionStatuses.list()).toEqual(new Map([['eu', 'degraded']]));
    // The form brings the note back as it stands: what it tells of is over.
    const opened = { status: 'catalogue', 'confirming-password': PASSWORD };
    expect((await set(opened)).statusCode).toBe(303);
    expect([await regionStatuses.list(), await regionStatuses.notes()]).toEqual([
      new Map(),
      new Map(),
    ]);
    expect(errors).toEqual([]);
  });

  it('an incident is told of the parts that were chosen, goes on while more is said of it, and a form that is not taken keeps what was typed [dashboard.operators]', async () => {
    const page = `${SERVICE}/incidents`;
    const asked = { title: 'Receipts are late', component: 'ledger' };
    // A space that shows nothing, as it comes out of a chat.
    const refused = await visitors.otto.send(page, page, {
      ...asked,
      text: 'We look\u200b at it',
    });
    expect(refused.statusCode).toBe(400);
    for (const kept of [
      'value="Receipts are late"',
      /value="ledger"\s+checked/,
      'at it</textarea>',
    ])
      expect(refused.payload).toMatch(kept);
    await visitors.otto.send(page, page, { ...asked, text: 'We look at it.' });
    const [told] = await dashboard.statusHistory.incidents();
    expect(told).toMatchObject({ components: ['ledger'], endedAt: null });
    const more = `${page}/${told!.id}`;
    const again = await visitors.otto.send(page, more, { text: 'No\u200b.', over: 'yes' });
    expect(again.payload).toMatch(
      /<details class="act" open>[^]*No\u200b\.<\/textarea>[^]*value="yes"\s+checked/,
    );
    await visitors.otto.send(page, more, { text: 'Still.' });
    expect(await dashboard.statusHistory.incidents()).toMatchObject([
      { endedAt: null, words: [{ text: 'Still.' }, { text: 'We look at it.' }] },
    ]);
    await visitors.otto.send(page, more, { text: 'Over.', over: 'yes' });
    const [over] = await dashboard.statusHistory.incidents();
    expect(over!.endedAt).toBeGreaterThanOrEqual(told!.beganAt);
    expect(errors).toEqual([]);
  });

  it('lanes and jobs say what waits, since when, and what failed [dashboard.operators, dashboard.escaped]', async () => {
    const { payload } = await visitors.otto.get(`${SERVICE}/queues`);
    for (const text of [
      count(1_234),
      '1 min',
      'the &#60;b&#62;store&#60;/b&#62; is full',
      'failed, try 2',
      'no &#60;i&#62;server&#60;/i&#62;',
    ]) {
      expect(payload).toContain(text);
    }
  });

  it('what screening has blocked stands there by rule and one by one, newest first, in pages [dashboard.operators]', async () => {
    const page = `${SERVICE}/policy`;
    expect((await visitors.otto.get(page)).payload).toContain('Nothing was blocked');
    const { id } = await activeAccount(registries);
    const receipts = Array.from({ length: 60 }, () => newId('rcpt')).toSorted();
    await database.pool.query(
      `insert into ledger_body (entry_id, org_id, kind, issued_at, leaf_hash, body, refusal_rule)
         select r, $2, 'refused', now(), sha256(r::bytea), 'x'::bytea,
           case when n % 20 = 0 then 'weapons-3' else 'malware-1' end
         from unnest($1::text[]) with ordinality as t (r, n)`,
      [receipts, id],
    );
    const ids = (payload: string): string[] =>
      [...payload.matchAll(/look-up\?q=req_(\w+)/g)].map(([, one]) => `rcpt_${one!}`);
    // A caller has the id that a client library shows.
    const q = `chatcmpl-${receipts[0]!.slice('rcpt_'.length)}`;
    const known = await visitors.otto.send(`${SERVICE}/look-up`, `${SERVICE}/look-up`, { q });
    expect(known.payload).toContain(receipts[0]);
    const first = (await visitors.otto.get(page)).payload;
    expect(first).toContain('weapons-3');
    const next = /href="([^"]+)">Older requests/.exec(first)![1]!;
    const second = (await visitors.otto.get(next.replaceAll('&#38;', '&'))).payload;
    expect([...ids(first), ...ids(second)]).toEqual(receipts.toReversed());
    const ofRule = (await visitors.otto.get(`${page}?rule=weapons-3&org=${id}`)).payload;
    expect(ids(ofRule)).toHaveLength(3);
    for (const query of ['rule=none', `org=${newId('org')}`, 'org=x', 'after=rcpt_none']) {
      expect((await visitors.otto.get(`${page}?${query}`)).statusCode).toBe(200);
    }
    expect(errors).toEqual([]);
  });
});

it('Health is where operators begin: it names what alarms and the processes that run, and is shown while Redis is away or was demoted [dashboard.operators]', async () => {
  const health = async (): Promise<string> =>
    (await visitors.otto.get(`${SERVICE}/health`)).payload.replaceAll(/\s+/g, ' ');
  readPeers = async () => new Map();
  expect(await health()).toContain('No process is taking or running requests.');
  const [old, current] = ['docket 0.1.0 (1111111)', 'docket 0.1.0 (2222222)'];
  readPeers = async () =>
    new Map([
      ['inference-b', { ...peer, build: current }],
      ['api-a', { ...peer, build: current }],
    ]);
  const same = await health();
  expect(same).toMatch(/api-a.*2222222.*abababababab<.*inference-b/);
  expect(same).not.toMatch(/Processes are of|Processes have|was demoted/);
  // What costs callers or evidence comes before what can wait.
  expect(same).toMatch(
    /eu is degraded.*Outcomes were set aside.*No process of receipts runs.*Jobs by the clock fail/,
  );
  expect(same).not.toContain('No process of inference runs');
  expect((await visitors.otto.get('/dashboard')).headers['location']).toBe(`${SERVICE}/health`);
  expect((await visitors.rita.get('/dashboard')).headers['location']).toBe(`${SERVICE}/reviews`);
  readPeers = async () =>
    new Map([
      ['api-a', { ...peer, build: current }],
      ['api-<b>', { ...peer, build: old, catalogue: 'cd'.repeat(32) }],
    ]);
  const differing = await health();
  expect(differing).toContain('Processes are of 2 builds');
  expect(differing).toContain('Processes have 2 catalogues');
  expect(differing).not.toContain('<b>');
  errors.length = 0;
  readPeers = () => Promise.reject(new Error('Redis is away'));
  writeToRedis = () => Promise.reject(new Error('its role is slave'));
  const away = await health();
  expect(away).toContain('Redis does not say which processes run.');
  expect(away).toMatch(/Redis was demoted.*its role is slave/);
  expect(errors).toHaveLength(1);
  errors.length = 0;
  writeToRedis = async () => {};
});
