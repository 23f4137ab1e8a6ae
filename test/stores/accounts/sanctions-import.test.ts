import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import type { ListedEntity, ListUpload } from '#shared/accounts/sanctions/listed.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import { housekeepingHandlers } from '#workers/housekeeping/handlers.ts';
import {
  activeAccount,
  contract,
  createRegistries,
  decideNow,
  declaration,
  newAccount,
  OPERATOR,
} from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const ADA = { kind: 'operator', id: 'ada' } as const;
const database = await createTestDatabase();
const pool = database.poolAs('docket_operator');
const registries = createRegistries(pool);
const { accounts, vettings, audit, keys, clock } = registries;
const store = createSanctionsStore(pool, clock);
const FIXTURES = join(import.meta.dirname, '../../fixtures/sanctions');

// The jobs run with their own role's rights.
const own = database.poolAs('docket_housekeeping');
const theirs = createRegistries(own, clock);
const vetter = new Vetter({
  vettings: theirs.vettings,
  lists: createSanctionsStore(own, clock),
  monotonicNow: () => performance.now(),
});
const failures: unknown[] = [];
const deps: Parameters<typeof housekeepingHandlers>[0] = {
  removeExpiredSignIns: async () => {},
  dropExpiredAnswers: () => Promise.resolve(0),
  dropExpiredResponses: () => Promise.resolve(0),
  turnRequestDays: () => Promise.resolve(),
  forgetRequestsOfClosed: () => Promise.resolve(0),
  countRequests: () => Promise.resolve({ failing: [], isMore: false }),
  tellFailing: () => Promise.resolve(false),
  forgetCounts: () => Promise.resolve(0),
  ensureLedgerPartitions: () => Promise.resolve(),
  archiveBodies: () => Promise.resolve(),
  vettings: theirs.vettings,
  keys: theirs.deadlines,
  tellReachedBudgets: () => Promise.resolve(false),
  webhooks: undefined,
  askForDelivery: () => Promise.resolve(),
  vetter,
  previewLists: async () => {},
  outbox: { sendDue: async () => ({ sent: 0, failed: 0 }) },
  mailer: { send: async () => {}, close: async () => {} },
  onVettingFailed: (_id, error) => failures.push(error),
};
const jobs = housekeepingHandlers(deps);
const sweep = () => jobs['screening-sweep']({}, new AbortController().signal);

async function importFixture(name: string) {
  const file = await openSanctionsFile(join(FIXTURES, name));
  return store.import({ ...file, entities: file.entities(), fileName: name }, ADA);
}

function upload(names: readonly string[], version: string): ListUpload {
  async function* entities(): AsyncGenerator<ListedEntity> {
    for (const name of names) {
      yield {
        id: name,
        kind: 'organisation',
        names: [{ name, weak: false }],
        programme: 'T',
        countries: [],
      };
    }
  }
  return {
    source: 'eu',
    version,
    fileName: 'made-up',
    entities: entities(),
    publishedOn: () => null,
  };
}

describe('importing a list', () => {
  it('keeps versions, knows the current one, and changes nothing for the same file', async () => {
    const first = await importFixture('targets.simple.csv');
    expect(first).toMatchObject({ isNew: true, list: { entities: 3, names: 6, current: true } });
    expect((await importFixture('targets.simple.csv')).isNew).toBe(false);
    expect(await store.currentVersions()).toEqual([
      { source: 'opensanctions', version: first.list.version },
    ]);
    const story = await audit.list({ orgId: SERVICE_CHAIN, limit: 10, order: 'asc' });
    expect(story.items.map(({ action, actorId }) => [action, actorId])).toEqual([
      ['sanctions.imported', 'ada'],
    ]);
  });

  it('replaces the current version of its source alone, and can go back', async () => {
    const a = 'a'.repeat(64);
    const b = 'b'.repeat(64);
    await store.import(upload(['Aname'], a), ADA);
    await store.import(upload(['Bname'], b), ADA);
    expect(await store.currentVersions()).toContainEqual({ source: 'eu', version: b });
    expect((await store.namesOf([{ source: 'eu', version: a }])).map(({ name }) => name)).toEqual([
      'Aname',
    ]);
    await store.import(upload(['Aname'], a), ADA);
    const lists = await store.lists();
    expect(lists.filter(({ source, current }) => source === 'eu' && current)).toHaveLength(1);
    expect(await store.currentVersions()).toContainEqual({ source: 'eu', version: a });
  });

  it('is all or nothing: a list that is empty or breaks off leaves the old one', async () => {
    const before = await store.currentVersions();
    await expect(store.import(upload([], 'c'.repeat(64)), ADA)).rejects.toMatchObject({
      code: 'invalid_file',
    });
    const broken = upload(['One'], 'd'.repeat(64));
    async function* breaking(): AsyncGenerator<ListedEntity> {
      yield* broken.entities;
      throw new Error('cut short');
    }
    await expect(store.import({ ...broken, entities: breaking() }, ADA)).rejects.toThrow(
      'cut short',
    );
    expect(await store.currentVersions()).toEqual(before);
  });
});

describe('vetting', () => {
  it('approves a harmless applicant and sends a listed one to review, by the job alone [accounts.review]', async () => {
    const harmless = await accounts.create(newAccount({ name: 'Harmless Bakery' }), OPERATOR);
    const listed = await accounts.create(newAccount({ name: 'ZHI Works Ltd' }), OPERATOR);
    for (const { id } of [harmless, listed]) await accounts.declare(id, declaration(), OPERATOR);
    await sweep();
    expect(failures).toEqual([]);
    expect((await accounts.get(harmless.id)).state).toBe('approved');
    expect((await accounts.get(listed.id)).state).toBe('in_review');
    const { items } = await vettings.reviews({ limit: 1, order: 'desc', open: true });
    const recorded = await vettings.vetting(listed.id, items[0]!.vettingId!);
    expect(recorded).toMatchObject({ outcome: 'hit', cause: 'onboarding' });
    expect(recorded?.reasons[0]?.text).toContain('ZHI Works');
  });

  it('suspends an active account that a new list names, opens a review, and tells its contacts', async () => {
    const { id } = await activeAccount(registries);
    const other = await activeAccount(registries);
    await pool.query('update account set name = $2 where id = $1', [id, 'Fresh Listing Traders']);
    await sweep();
    expect((await accounts.get(id)).state).toBe('active');

    await store.import(upload(['Fresh Listing Traders'], 'e'.repeat(64)), ADA);
    expect(await vettings.due(100)).toContain(id);
    await Promise.all([sweep(), sweep()]);
    expect(await vettings.due(100)).toEqual([]);
    expect((await accounts.get(id)).state).toBe('suspended');
    expect((await accounts.get(other.id)).state).toBe('active');
    const story = await audit.list({
      orgId: id,
      limit: 1,
      order: 'desc',
      action: 'account.suspended',
    });
    expect(story.items[0]).toMatchObject({ actorKind: 'system', actorId: 'screening' });
    expect(story.items[0]?.reason).toContain('Fresh Listing Traders');
    const { rows } = await database.pool.query(
      `select from mail_outbox where org_id = $1 and subject like '%is suspended'`,
      [id],
    );
    expect(rows).toHaveLength(2);
    await expect(keys.issue(id, { name: 'a' }, OPERATOR)).rejects.toMatchObject({
      code: 'customer_suspended',
    });

    // An operator finds that it is another party; the same entry does not suspend it again.
    await expect(accounts.reinstate(id, OPERATOR, 'no')).rejects.toMatchObject({
      code: 'invalid_account_state',
    });
    await decideNow(registries, id, 'approved');
    await accounts.reinstate(id, OPERATOR, 'another firm of the same name');
    await store.import(upload(['Fresh Listing Traders', 'Someone Else'], 'f'.repeat(64)), ADA);
    await sweep();
    expect((await accounts.get(id)).state).toBe('active');
  });

  it('takes an approved applicant back to review when a new list names it', async () => {
    const { id } = await accounts.create(newAccount({ name: 'Late Listed Works' }), OPERATOR);
    await accounts.declare(id, declaration(), OPERATOR);
    await sweep();
    await accounts.sign(id, contract(), OPERATOR);
    await store.import(upload(['Late Listed Works'], '1'.repeat(64)), ADA);
    await sweep();
    expect((await accounts.get(id)).state).toBe('in_review');
    await expect(accounts.activate(id, OPERATOR)).rejects.toMatchObject({
      code: 'invalid_account_state',
    });
  });

  it('goes on with the others when one account cannot be vetted', async () => {
    const bad = await accounts.create(newAccount(), OPERATOR);
    const good = await accounts.create(newAccount(), OPERATOR);
    for (const { id } of [bad, good]) await accounts.declare(id, declaration(), OPERATOR);
    const troubled = housekeepingHandlers({
      ...deps,
      vetter: {
        vet: async (id, cause) => {
          if (id === bad.id) throw new Error('no');
          await vetter.vet(id, cause);
        },
      },
      onVettingFailed: () => {},
    });
    await troubled['screening-sweep']({}, new AbortController().signal);
    expect((await accounts.get(good.id)).state).toBe('approved');
    expect((await accounts.get(bad.id)).state).toBe('declared');
  });
});
