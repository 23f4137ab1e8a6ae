import { beforeEach, describe, expect, it } from 'vitest';
import {
  createKeptResponses,
  dropExpiredResponses,
} from '#shared/lanes/postgres/kept-responses.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const kept = createKeptResponses(database.poolAs('docket_api'));
const BOUNDS = { turnsMax: 10, bytesMax: 1_000 };

let org = '';
let other = '';

beforeEach(async () => {
  org = (await activeAccount(registries)).id;
  other = (await activeAccount(registries)).id;
});

const keep = (id: string, previous: string | null = null, orgId = org, content = id) =>
  kept.keep({ orgId, id, previous, sealed: Buffer.from(content) }, BOUNDS.turnsMax);

const age = (interval: string) =>
  database.pool.query(
    'update kept_response set expires_at = expires_at - $1::interval where org_id = $2',
    [interval, org],
  );

const leftMinutes = async (): Promise<number[]> => {
  const { rows } = await database.pool.query<{ left: number }>(
    `select round(extract(epoch from expires_at - now()) / 60)::int as left
     from kept_response where org_id = $1 order by id`,
    [org],
  );
  return rows.map(({ left }) => left);
};

describe('a conversation that is kept [responses.kept]', () => {
  beforeEach(async () => {
    await keep('resp_1');
    await keep('resp_2', 'resp_1');
    await keep('resp_3', 'resp_2');
  });

  it('is read from its beginning to the response that is named, and by its own organisation alone', async () => {
    const rows = await kept.chain(org, 'resp_3', 'go on', BOUNDS);
    expect(rows.map(({ id, previous, sealed }) => [id, previous, String(sealed)])).toEqual([
      ['resp_1', null, 'resp_1'],
      ['resp_2', 'resp_1', 'resp_2'],
      ['resp_3', 'resp_2', 'resp_3'],
    ]);
    expect(await kept.chain(org, 'resp_2', 'go on', BOUNDS)).toHaveLength(2);
    expect(await kept.chain(other, 'resp_3', 'go on', BOUNDS)).toEqual([]);
    expect(await kept.read(other, 'resp_3')).toBeNull();
    expect(await kept.drop(other, 'resp_3')).toBe(false);
    await keep('resp_2', null, other, 'theirs');
    expect(
      (await kept.chain(org, 'resp_3', 'go on', BOUNDS)).map((row) => String(row.sealed)),
    ).not.toContain('theirs');
  });

  it('lives for 24 hours from its last use: going on from it renews every response of it, and listing it none', async () => {
    await age('23 hours');
    expect(await kept.chain(org, 'resp_3', 'list', BOUNDS)).toHaveLength(3);
    expect(await leftMinutes()).toEqual([60, 60, 60]);
    await kept.chain(org, 'resp_3', 'go on', BOUNDS);
    expect(await leftMinutes()).toEqual([1_440, 1_440, 1_440]);
    await age('23 hours');
    await keep('resp_4', 'resp_3');
    expect(await leftMinutes()).toEqual([1_440, 1_440, 1_440, 1_440]);
    await age('24 hours');
    expect(await kept.chain(org, 'resp_4', 'go on', BOUNDS)).toEqual([]);
    expect([await kept.read(org, 'resp_4'), await kept.has(org, 'resp_4')]).toEqual([null, false]);
    expect(await kept.drop(org, 'resp_4')).toBe(false);
    const housekeeping = database.poolAs('docket_housekeeping');
    expect(await dropExpiredResponses(housekeeping, 3)).toBe(3);
    expect(await dropExpiredResponses(housekeeping, 3)).toBe(1);
  });

  it('is followed no further than its bounds, and what is beyond them is told by a row without content', async () => {
    const few = await kept.chain(org, 'resp_3', 'go on', { ...BOUNDS, turnsMax: 2 });
    expect(few.map(({ id, sealed }) => [id, sealed === null])).toEqual([
      ['resp_1', true],
      ['resp_2', false],
      ['resp_3', false],
    ]);
    const short = await kept.chain(org, 'resp_3', 'go on', { ...BOUNDS, bytesMax: 8 });
    expect(short.map(({ id, sealed }) => [id, sealed === null])).toEqual([
      ['resp_2', true],
      ['resp_3', false],
    ]);
  });

  it('goes on from nothing that was deleted', async () => {
    expect(await kept.drop(org, 'resp_3')).toBe(true);
    expect(await keep('resp_4', 'resp_3')).toBe(false);
    expect(await kept.has(org, 'resp_4')).toBe(false);
    expect(await kept.bytesOf(org)).toBe(12);
    expect(await kept.bytesOf(other)).toBe(0);
  });

  it('is renewed by two requests at once without a wait for each other', async () => {
    await age('1 hour');
    await inTransaction(database.pool, async (client) => {
      await client.query(`select from kept_response where id = 'resp_1' for update`);
      expect(await kept.chain(org, 'resp_3', 'go on', BOUNDS)).toHaveLength(3);
    });
  });
});

describe('the responses that items are of [responses.references]', () => {
  const keepWith = (id: string, items: string[], orgId = org) =>
    kept.keep({ orgId, id, previous: null, sealed: Buffer.from(id), items }, BOUNDS.turnsMax);
  const found = async (
    responses: string[],
    items: string[],
    {
      except = [],
      bytesMax = 1_000,
      orgId = org,
    }: { except?: string[]; bytesMax?: number; orgId?: string } = {},
  ) => {
    const rows = await kept.ofItems(orgId, { responses, items, except }, bytesMax);
    return rows.map(({ id, sealed }) => (sealed === null ? `no ${id}` : String(sealed)));
  };

  it('are found by their own names and by those of their servers, by their own organisation alone', async () => {
    await keep('resp_1');
    await keepWith('resp_2', ['msg_a', 'fc_a']);
    await keepWith('resp_3', ['msg_b'], other);
    expect(await found(['resp_1'], ['msg_a', 'fc_a', 'msg_c'])).toEqual(['resp_1', 'resp_2']);
    expect(await found(['resp_1'], ['msg_a'], { except: ['resp_1'] })).toEqual(['resp_2']);
    expect(await found(['resp_3'], ['msg_b'])).toEqual([]);
    expect(await found(['resp_1', 'resp_2'], ['msg_a'], { orgId: other })).toEqual([]);
    expect(await found([], ['msg_b'], { orgId: other })).toEqual(['resp_3']);
  });

  it('are not found by a name that two of them have: the item may be of another conversation', async () => {
    await keepWith('resp_1', ['msg_0']);
    await keepWith('resp_2', ['msg_0', 'fc_0']);
    await keepWith('resp_1', ['fc_0'], other);
    expect(await found([], ['msg_0'])).toEqual([]);
    expect(await found([], ['msg_0', 'fc_0'])).toEqual(['resp_2']);
  });

  it('are renewed by that, gone when they have expired, and of what is beyond the bound without content', async () => {
    await keepWith('resp_1', ['msg_a']);
    await keepWith('resp_2', ['msg_b']);
    await age('23 hours');
    expect(await found(['resp_1'], [])).toEqual(['resp_1']);
    expect(await leftMinutes()).toEqual([1_440, 60]);
    expect(await found(['resp_1'], ['msg_b'], { bytesMax: 8 })).toEqual(['resp_1', 'no resp_2']);
    await age('24 hours');
    expect(await found(['resp_1'], ['msg_b'])).toEqual([]);
  });
});

describe('an organisation that has nothing kept [responses.kept-choice]', () => {
  it('has none left from the moment that it says so, and a response that was on its way is not kept after it', async () => {
    await keep('resp_1');
    const { promise: told, resolve: tell } = Promise.withResolvers<void>();
    const late = inTransaction(database.pool, async (client) => {
      await client.query('update account set keep_responses = false where id = $1', [org]);
      tell();
      await client.query('select pg_sleep(0.05)');
    });
    await told;
    expect(await keep('resp_2')).toBe(false);
    await late;
    expect(await kept.bytesOf(org)).toBe(0);
  });

  it('is one that is closed, too', async () => {
    await keep('resp_1');
    await registries.accounts.close(org, OPERATOR, 'They are done.');
    expect(await kept.bytesOf(org)).toBe(0);
    expect(await keep('resp_2')).toBe(false);
  });

  it('is every one from before this was offered, and none that is new', async () => {
    const { rows } = await database.pool.query<{ default: string }>(
      `select pg_get_expr(d.adbin, d.adrelid) as default from pg_attrdef d
       join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
       where d.adrelid = 'account'::regclass and a.attname = 'keep_responses'`,
    );
    expect(rows).toEqual([{ default: 'true' }]);
    const { rows: before } = await database.pool.query<{ missing: string }>(
      `select attmissingval::text as missing from pg_attribute
       where attrelid = 'account'::regclass and attname = 'keep_responses'`,
    );
    expect(before).toEqual([{ missing: '{f}' }]);
  });
});
