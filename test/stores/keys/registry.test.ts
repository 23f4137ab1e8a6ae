import { describe, expect, it } from 'vitest';
import { createCredentialSource, createKeyUseStore } from '#shared/keys/postgres/credentials.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { hashKey } from '#shared/keys/format.ts';
import { SEARCHED_MAX } from '#shared/keys/postgres/keys.ts';
import { type Actor, AllowanceLost } from '#shared/accounts/audit/entry.ts';
import {
  activeAccount,
  createRegistries,
  movableClock,
  newAccount,
  OPERATOR,
} from '#test/support/accounts.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { createTestDatabase, waitsForLock } from '#test/support/database.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const api = createRegistries(database.poolAs('docket_api'));
const operator = createRegistries(database.poolAs('docket_operator'));

async function* everyKey(orgId: string, order: 'asc' | 'desc'): AsyncGenerator<string> {
  let cursor = {};
  for (;;) {
    const page = await api.keys.list({ orgId, limit: 3, order, ...cursor });
    for (const key of page.items) yield key.id;
    if (!page.hasMore) return;
    cursor = { after: page.items.at(-1)?.id };
  }
}

describe('a key in the database', () => {
  it('never stores the plaintext, only its SHA-256 [keys.shown-once]', async () => {
    const { id } = await activeAccount(operator);
    const { plaintext } = await api.keys.issue(id, { name: 'a' }, OPERATOR);
    const { rows: tables } = await database.pool.query<{ name: string }>(
      `select format('%I', tablename) as name from pg_tables where schemaname = 'public'`,
    );
    for (const { name } of tables) {
      const { rows } = await database.pool.query(
        `select 1 from ${name} t where t::text like '%' || $1 || '%'`,
        [plaintext.slice(4)],
      );
      expect(rows, name).toEqual([]);
    }
    expect((await api.keys.findByHash(hashKey(plaintext)))?.orgId).toBe(id);
  });

  it('a rotation keeps lineage, scopes and limits, and leaves the predecessor active [keys.successor]', async () => {
    const { id } = await activeAccount(operator);
    const limit = { requestsPerSecond: 7, burst: 9 };
    const first = await api.keys.issue(
      id,
      { name: 'prod', scopes: ['service:export'], limit },
      OPERATOR,
    );
    const second = await api.keys.rotate(id, first.key.id, {}, OPERATOR);
    const third = await api.keys.rotate(id, second.key.id, { scopes: ['service:read'] }, OPERATOR);
    expect(second.key).toMatchObject({
      name: 'prod',
      scopes: ['service:export'],
      limit,
      lineageId: first.key.id,
      predecessorId: first.key.id,
    });
    expect(third.key).toMatchObject({
      scopes: ['service:read'],
      lineageId: first.key.id,
      predecessorId: second.key.id,
    });
    expect((await api.keys.get(id, first.key.id)).state).toBe('active');
    await api.keys.revoke(id, first.key.id, OPERATOR);
    await expect(api.keys.rotate(id, first.key.id, {}, OPERATOR)).rejects.toMatchObject({
      code: 'key_state_conflict',
    });
  });

  it('another organisation’s key is a key that does not exist', async () => {
    const mine = await activeAccount(operator);
    const theirs = await activeAccount(operator);
    const { key } = await api.keys.issue(theirs.id, { name: 'a' }, OPERATOR);
    for (const act of [
      () => api.keys.get(mine.id, key.id),
      () => api.keys.revoke(mine.id, key.id, OPERATOR),
      () => api.keys.restore(mine.id, key.id, OPERATOR),
      () => api.keys.rotate(mine.id, key.id, {}, OPERATOR),
    ]) {
      await expect(act()).rejects.toMatchObject({ code: 'key_not_found', status: 404 });
    }
  });

  it('a key revokes others, not itself, and makes and restores no administrators [scopes.no-escalation]', async () => {
    const { id } = await activeAccount(operator);
    const admin = await api.keys.issue(id, { name: 'admin', scopes: ['admin:keys'] }, OPERATOR);
    const other = await api.keys.issue(id, { name: 'other', scopes: ['admin:keys'] }, OPERATOR);
    const actor: Actor = { kind: 'key', id: admin.key.id };
    await expect(api.keys.revoke(id, admin.key.id, actor)).rejects.toMatchObject({
      code: 'invalid_key',
    });
    await expect(api.keys.rotate(id, admin.key.id, {}, actor)).rejects.toMatchObject({
      code: 'invalid_scope',
    });
    await api.keys.revoke(id, other.key.id, actor, { reason: 'left the company' });
    await expect(api.keys.restore(id, other.key.id, actor)).rejects.toMatchObject({
      code: 'invalid_scope',
    });
    expect((await api.keys.restore(id, other.key.id, OPERATOR)).state).toBe('active');
  });

  it('a playground that begins while its person is taken out does not begin [dashboard.playground]', async () => {
    const { id } = await activeAccount(operator);
    const person = await newPerson(database.pool, [
      { kind: 'organisation', orgId: id, role: 'member' },
    ]);
    const actor: Actor = { kind: 'user', id: person.id, allowedBy: { member: 'member' } };
    const removing = await database.pool.connect();
    try {
      await removing.query('begin');
      await removing.query('delete from persons.membership where org_id = $1', [id]);
      const begun = api.keys.playground(id, person, actor).catch((error: unknown) => error);
      await until(() => waitsForLock(database.pool));
      await removing.query('commit');
      expect(await begun).toBeInstanceOf(AllowanceLost);
    } finally {
      removing.release();
    }
    expect(await api.keys.playgrounds(id)).toEqual([]);
  });

  it('pages through keys by id without gaps or repeats', async () => {
    const { id } = await activeAccount(operator);
    for (let i = 0; i < 7; i += 1) await api.keys.issue(id, { name: `key ${i}` }, OPERATOR);
    const ids: string[] = [];
    for await (const entry of everyKey(id, 'asc')) ids.push(entry);
    expect(ids).toHaveLength(7);
    expect(ids).toEqual([...new Set(ids)].toSorted());
    const backwards: string[] = [];
    for await (const entry of everyKey(id, 'desc')) backwards.push(entry);
    expect(backwards).toEqual(ids.toReversed());
  });

  it('cannot be moved by SQL outside its arrows, nor be deleted before a revocation [keys.no-other-arrows]', async () => {
    const { id } = await activeAccount(operator);
    const { key } = await api.keys.issue(id, { name: 'a' }, OPERATOR);
    const sql = (text: string) => database.pool.query(text, [key.id]);
    await expect(sql('delete from api_key where id = $1')).rejects.toThrow('only a revoked key');
    await sql(`update api_key set state = 'expired' where id = $1`);
    await expect(sql(`update api_key set state = 'active' where id = $1`)).rejects.toThrow(
      'cannot go from',
    );
    await expect(
      sql(`update api_key set state = 'revoked', revoked_at = now() where id = $1`),
    ).rejects.toThrow('cannot go from');
    await expect(
      sql(`update api_key set hash = decode(repeat('00', 32), 'hex') where id = $1`),
    ).rejects.toThrow('never changes');
  });
});

describe('acts that race', () => {
  it('end in success or refusal, never in a deadlock, and leave a sound audit log', async () => {
    const { id } = await activeAccount(operator);
    const admin = operator.accounts;
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) => operator.keys.issue(id, { name: `k${i}` }, OPERATOR)),
    );
    const acts = made.flatMap(({ key }) => [
      () => api.keys.revoke(id, key.id, OPERATOR),
      () => api.keys.rotate(id, key.id, {}, OPERATOR),
      () => api.keys.restore(id, key.id, OPERATOR),
      () => admin.suspend(id, OPERATOR, 'a look'),
      () => admin.reinstate(id, OPERATOR, 'all is well'),
    ]);
    const close = () => admin.close(id, OPERATOR, 'the end');
    const results = await Promise.allSettled([...acts, close, ...acts].map((act) => act()));
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(Fault);
    }
    expect((await admin.get(id)).state).toBe('closed');
    const page = await api.keys.list({ orgId: id, limit: 100, order: 'asc' });
    expect(page.items.filter(({ state }) => state === 'active')).toEqual([]);
    for await (const verdict of api.audit.verify(id)) expect(verdict.fault).toBeNull();
  });
});

describe('an act of a key that waits while the key is revoked as leaked', () => {
  it.each(['issues none', 'restores none'])('%s [keys.revoked]', async (what) => {
    const { id } = await activeAccount(operator);
    const issued = await api.keys.issue(id, { name: 'admin', scopes: ['admin:keys'] }, OPERATOR);
    const other = await api.keys.issue(id, { name: 'other' }, OPERATOR);
    await api.keys.revoke(id, other.key.id, OPERATOR);
    const actor: Actor = { kind: 'key', id: issued.key.id };
    const client = await database.pool.connect();
    await client.query('begin');
    await client.query('select id from account where id = $1 for no key update', [id]);
    const acting =
      what === 'issues none'
        ? api.keys.issue(id, { name: 'more' }, actor)
        : api.keys.restore(id, other.key.id, actor);
    const outcome = acting.then(
      () => 'done',
      (error: unknown) => (error as Fault).code,
    );
    await until(() => waitsForLock(database.pool), 'the act waits');
    await operator.keys.revoke(id, issued.key.id, OPERATOR, { leaked: true, reason: 'in a log' });
    await client.query('commit');
    client.release();
    expect(await outcome).toBe('revoked_api_key');
    const keys = await api.keys.list({ orgId: id, limit: 10, order: 'asc' });
    expect(keys.items.filter(({ state }) => state === 'active')).toEqual([]);
  });
});

describe('the purge', () => {
  it('leaves a key to be restored for 89 days and deletes it after 90; the audit log keeps its story [keys.ninety-days]', async () => {
    const clock = movableClock();
    const admin = createRegistries(database.poolAs('docket_operator'), clock);
    const purge = createRegistries(database.poolAs('docket_purge'), clock);
    const { id } = await activeAccount(admin);
    const kept = await admin.keys.issue(id, { name: 'kept' }, OPERATOR);
    const gone = await admin.keys.issue(id, { name: 'gone' }, OPERATOR);
    await admin.keys.revoke(id, kept.key.id, OPERATOR, { reason: 'a mistake' });
    const support: Actor = { ...OPERATOR, ticket: 'T-4711' };
    await admin.keys.revoke(id, gone.key.id, support, {
      reason: `${gone.plaintext} stood in a log`,
      leaked: true,
    });

    clock.advance(89 * DAY_MS);
    expect(await purge.deadlines.purgeDue(100)).toBe(0);
    expect((await admin.keys.restore(id, kept.key.id, OPERATOR)).state).toBe('active');

    clock.advance(DAY_MS);
    await expect(admin.keys.restore(id, gone.key.id, OPERATOR)).rejects.toMatchObject({
      code: 'key_state_conflict',
    });
    // Twice at the same time, and once more.
    await Promise.all([purge.deadlines.purgeDue(100), purge.deadlines.purgeDue(100)]);
    expect(await purge.deadlines.purgeDue(100)).toBe(0);
    expect(await admin.keys.findByHash(hashKey(gone.plaintext))).toBeNull();
    expect((await admin.keys.get(id, kept.key.id)).state).toBe('active');

    const story = await admin.audit.list({ orgId: id, limit: 100, order: 'asc' });
    const ofGone = story.items.filter((entry) => entry.subject === gone.key.id);
    expect(
      ofGone.map(({ action, actorKind, actorId, reason }) => [action, actorKind, actorId, reason]),
    ).toEqual([
      ['key.issued', 'operator', 'ada', null],
      ['key.revoked', 'operator', 'ada', `${gone.plaintext.slice(0, 8)} stood in a log`],
      ['key.purged', 'system', 'key-purge', null],
    ]);
    expect(JSON.parse(ofGone[1]!.details)).toMatchObject({ ticket: 'T-4711' });
    expect(JSON.stringify(story.items)).not.toContain(hashKey(gone.plaintext));
    for await (const verdict of admin.audit.verify(id)) expect(verdict.fault).toBeNull();
  });
});

describe('expiry', () => {
  it('is recorded once when two jobs race, told by e-mail, and warned of twice before', async () => {
    const clock = movableClock();
    const admin = createRegistries(database.poolAs('docket_operator'), clock);
    const housekeeping = createRegistries(database.poolAs('docket_housekeeping'), clock);
    const { id } = await activeAccount(admin);
    // A reader of its own: e-mails of one hour to one are counted, whichever organisation they are about.
    const { billing } = newAccount();
    const technical = { name: 'Tess Example', email: 'expiry@bakery.example' };
    await admin.accounts.setContacts(id, { billing, technical }, OPERATOR);
    const expiresAt = clock.now() + 30 * DAY_MS;
    const { key } = await admin.keys.issue(id, { name: 'short', expiresAt }, OPERATOR);
    const letters = async () => {
      const { rows } = await database.pool.query<{ subject: string }>(
        `select subject from mail_outbox where org_id = $1 and subject like '%“short”%' order by id`,
        [id],
      );
      return rows.map((row) => row.subject);
    };
    const issued = 'API key “short” was issued';
    await housekeeping.deadlines.warnExpiring(10);
    expect(await letters()).toEqual([issued]);
    clock.advance(17 * DAY_MS);
    await Promise.all([
      housekeeping.deadlines.warnExpiring(10),
      housekeeping.deadlines.warnExpiring(10),
    ]);
    clock.advance(12.5 * DAY_MS);
    await housekeeping.deadlines.warnExpiring(10);
    await housekeeping.deadlines.warnExpiring(10);
    const warning = 'API key “short” expires soon';
    expect(await letters()).toEqual([issued, warning, warning]);

    clock.advance(DAY_MS);
    const counts = await Promise.all([
      housekeeping.deadlines.expireDue(10),
      housekeeping.deadlines.expireDue(10),
    ]);
    expect(counts[0] + counts[1]).toBe(1);
    expect((await admin.keys.get(id, key.id)).state).toBe('expired');
    expect(await letters()).toEqual([issued, warning, warning, 'API key “short” has expired']);
  });
});

describe('the plan audit', () => {
  it('a downgrade to it ends the expiry of its keys, on record and by one e-mail', async () => {
    const clock = movableClock();
    const admin = createRegistries(database.poolAs('docket_operator'), clock);
    const housekeeping = createRegistries(database.poolAs('docket_housekeeping'), clock);
    const { id } = await activeAccount(admin);
    const expiresAt = clock.now() + 5 * DAY_MS;
    const scopes = ['inference:write', 'service:export'];
    const kept = await admin.keys.issue(id, { name: 'kept', expiresAt, scopes }, OPERATOR);
    const over = await admin.keys.issue(
      id,
      { name: 'over', expiresAt: clock.now() + 1_000 },
      OPERATOR,
    );
    clock.advance(2_000);
    await admin.accounts.setPlan(id, 'audit', OPERATOR);
    clock.advance(10 * DAY_MS);
    await housekeeping.deadlines.warnExpiring(10);
    await housekeeping.deadlines.expireDue(10);
    expect(await admin.keys.get(id, kept.key.id)).toMatchObject({
      state: 'active',
      expiresAt: null,
    });
    expect((await admin.keys.get(id, over.key.id)).state).toBe('expired');
    const source = createCredentialSource(database.poolAs('docket_api'));
    const hash = hashKey(kept.plaintext);
    expect((await source.findByHashes([hash])).get(hash)).toMatchObject({
      keyState: 'active',
      expiresAt: null,
      scopes: ['inference:write'],
    });
    const { items } = await admin.audit.list({
      orgId: id,
      limit: 100,
      order: 'asc',
      action: 'key.expiry_ended',
    });
    expect(items.map(({ subject }) => subject)).toEqual([kept.key.id]);
    const { rows } = await database.pool.query<{ body: string }>(
      `select body from mail_outbox where org_id = $1 and subject like '%no longer expire'`,
      [id],
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]!.body).toContain('“kept”');
    expect(rows[0]!.body).not.toContain('“over”');
  });

  it('its keys with the default scopes are issued, rotated, revoked and restored by support', async () => {
    const { id } = await activeAccount(operator, 'audit');
    const support: Actor = { ...OPERATOR, ticket: '4711' };
    const { key } = await operator.keys.issue(id, { name: 'first' }, support);
    expect(key.scopes).toEqual(['inference:read', 'inference:write', 'service:read']);
    const successor = await operator.keys.rotate(id, key.id, {}, support);
    expect(successor.key.scopes).toEqual(key.scopes);
    expect((await operator.keys.revoke(id, key.id, support)).state).toBe('revoked');
    expect((await operator.keys.restore(id, key.id, support)).state).toBe('active');
    for (const scope of ['service:lineage', 'service:export', 'admin:keys']) {
      await expect(
        operator.keys.issue(id, { name: 'more', scopes: [scope] }, support),
      ).rejects.toMatchObject({ code: 'invalid_scope' });
    }
  });
});

describe('a credential', () => {
  it('carries what the plan still allows and the limits that apply', async () => {
    const { id } = await activeAccount(operator, 'enterprise');
    const { plaintext } = await api.keys.issue(
      id,
      { name: 'a', scopes: ['service:read', 'service:export'] },
      OPERATOR,
    );
    const hash = hashKey(plaintext);
    const source = createCredentialSource(database.poolAs('docket_api'));
    const read = async () => (await source.findByHashes([hash, '00'.repeat(32)])).get(hash);
    const limits = { requestsPerSecond: 5, burst: 9, requestsPerDay: 100, concurrentStreams: 2 };
    await operator.accounts.setLimits(id, limits, OPERATOR);
    expect(await read()).toMatchObject({
      plan: 'enterprise',
      limits,
      scopes: ['service:read', 'service:export'],
    });
    await operator.accounts.setPlan(id, 'audit', OPERATOR);
    expect(await read()).toMatchObject({
      plan: 'audit',
      limits: PLAN_LIMITS.audit,
      scopes: ['service:read'],
    });
  });

  it('last use only moves forward when many write at once, without deadlock', async () => {
    const { id } = await activeAccount(operator);
    const issued = await Promise.all(
      Array.from({ length: 10 }, (_, i) => operator.keys.issue(id, { name: `k${i}` }, OPERATOR)),
    );
    const ids = issued.map(({ key }) => key.id);
    const uses = createKeyUseStore(database.poolAs('docket_api'));
    const base = Date.now();
    await Promise.all(
      Array.from({ length: 20 }, (_, round) =>
        uses.recordUses(
          new Map((round % 2 ? ids : ids.toReversed()).map((key) => [key, base + round])),
        ),
      ),
    );
    await uses.recordUses(new Map(ids.map((key) => [key, base + 100])));
    await uses.recordUses(new Map(ids.map((key) => [key, base])));
    for (const key of ids) expect((await api.keys.get(id, key)).lastUsedAt).toBe(base + 100);
  });
});

describe('an organisation that has had very many keys', () => {
  it('is given another, is shown the successor of one and searches, with a look at ten thousand at most [keys.successor]', async () => {
    const { id } = await activeAccount(operator);
    const first = await api.keys.issue(id, { name: 'first of all' }, OPERATOR);
    const client = await database.pool.connect();
    try {
      // A key that is made revoked was none.
      await client.query(`set session_replication_role = replica`);
      await client.query(
        `insert into api_key (id, org_id, name, hash, head, tail, scopes, state, lineage_id, created_at, revoked_at)
           select 'key_z' || lpad(i::text, 25, '0'), $1, 'old', sha256(convert_to($1 || i, 'UTF8')), 'dkt_abcd', 'wxyz', '{inference:read}',
             'revoked', 'key_z' || lpad(i::text, 25, '0'), now(), now() from generate_series(1, $2::int) i`,
        [id, SEARCHED_MAX],
      );
      await client.query(`set session_replication_role = origin; analyze api_key`);
    } finally {
      client.release();
    }
    const search = (name: string) => api.keys.search(id, { name, limit: 3 });
    expect(await search('old')).toHaveLength(3);
    expect(await search('first of')).toEqual([]);
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(
      `explain select id from api_key where org_id = $1 and predecessor_id = $2 and state = 'active' order by id desc limit 1`,
      [id, first.key.id],
    );
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('api_key_active');
    const next = await api.keys.rotate(id, first.key.id, {}, OPERATOR);
    expect((await api.keys.successor(id, first.key.id))?.id).toBe(next.key.id);
  });
});
