import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { beforeAll, describe, expect, it } from 'vitest';
import { FILE_BYTES_MAX } from '#api/dashboard/sanctions/upload.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { previewLists } from '#shared/accounts/list-preview.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { Person } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  formTokenOf,
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser, dashboard, errors } = await openDashboardEdge(database);
const own = database.poolAs('docket_housekeeping');
const compare = () => {
  const theirs = createRegistries(own);
  const lists = createSanctionsStore(own, theirs.clock);
  return previewLists({ lists, vettings: theirs.vettings }, new AbortController().signal);
};

const PAGE = '/dashboard/service/sanctions';
let otto: Person;
let operator: TestBrowser;

beforeAll(async () => {
  otto = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
  operator = browser({ address: '203.0.113.1' });
  await operator.signIn(otto);
});

/** A list as OpenSanctions publishes it. */
const csvOf = (names: readonly string[]): string =>
  [
    'id,schema,name,aliases,countries,program_ids,dataset',
    ...names.map((name, index) => `Q${index},Company,${name},,,T-1,some`),
  ].join('\n');
async function upload(content: string, who = operator) {
  const form = formTokenOf((await who.get(PAGE)).payload);
  return who.upload(PAGE, form, { list: ['list.csv', content], aliases: ['', ''] });
}
const versions = async () =>
  (await dashboard.sanctions.currentVersions()).map(({ version }) => version);
const left = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith(`docket-sanctions-${process.pid}-`));

describe('a sanctions list that an operator uploads [dashboard.sanctions]', () => {
  it('shows what it would change before it is made current, and then is so at once, in the name of the person', async () => {
    const { id } = await activeAccount(registries);
    const first = await upload(csvOf(['Quite Another Ltd', 'A Third One']));
    const one = first.headers.location as string;
    expect((await operator.get(one)).payload).toContain('It is being compared');
    expect((await operator.send(PAGE, `${one}/apply`)).statusCode).toBe(400);
    await compare();
    expect((await operator.get(one)).payload).toContain('No account matches a party');
    expect(await versions()).toEqual([]);
    expect((await operator.send(PAGE, `${one}/apply`)).headers.location).toBe(
      `${PAGE}?done=applied`,
    );
    const [before] = await versions();
    expect(before).toMatch(/^[0-9a-f]{64}$/);

    const second = await upload(csvOf(['Quite Another Ltd', 'Renamed One', 'Harmless Bakery']));
    const two = second.headers.location as string;
    await compare();
    const shown = (await operator.get(two)).payload.replaceAll(/\s+/g, ' ');
    for (const text of ['Added: 1', 'Removed: none', 'With other names: 1', 'Harmless Bakery'])
      expect(shown).toContain(text);
    expect(shown).toContain(`/dashboard/service/accounts/${id}`);
    expect(shown).toContain('resembles &#34;Harmless Bakery&#34; of opensanctions Q2');
    expect(await versions()).toEqual([before]);
    await operator.send(PAGE, `${two}/apply`, { reason: 'the list of today' });
    expect(await versions()).not.toEqual([before]);
    expect((await operator.get(two)).statusCode).toBe(404);
    const { items } = await registries.audit.list({
      orgId: SERVICE_CHAIN,
      limit: 1,
      order: 'desc',
    });
    expect(items[0]).toMatchObject({
      action: 'sanctions.imported',
      actorId: otto.id,
      subject: 'opensanctions',
      reason: 'the list of today',
    });
    // As after an import at the command line.
    expect(await dashboard.vettings.due(10)).toContain(id);
    expect(errors).toEqual([]);
    expect(left()).toEqual([]);
  });

  it('is refused where it is broken, known, of no format or too large, with the line; nothing is kept of it', async () => {
    const names = csvOf(['One', 'Two']);
    const lists = await dashboard.sanctions.lists();
    for (const [content, said] of [
      [`${names}\nQ9,Company,"broken`, /on line \d|at line \d/],
      ['<CONSOLIDATED_LIST dateGenerated="2026-11-30">\n<INDIVIDUAL>\n</ENTITY>', /3:\d+/],
      ['something else', /Not a list that is known here/],
      ['', /Choose a file|Not a list that is known here/],
      [csvOf([]), /holds no names/],
    ] as const) {
      const reply = await upload(content);
      expect([content, reply.statusCode]).toEqual([content, 400]);
      expect(reply.payload).toMatch(said);
    }
    const large = await upload(names + ' '.repeat(FILE_BYTES_MAX));
    expect([large.statusCode, large.payload.includes('has at most 48 MiB')]).toEqual([413, true]);
    expect(await dashboard.sanctions.staged()).toEqual([]);
    expect(await dashboard.sanctions.lists()).toEqual(lists);
    const kept = await upload(names);
    expect((await upload(names)).payload).toContain('was uploaded already');
    await operator.send(PAGE, `${kept.headers.location as string}/discard`);
    expect(await dashboard.sanctions.staged()).toEqual([]);
    expect(left()).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('is taken from an operator with a form of ours alone, and made current by one who confirms', async () => {
    const owner = browser({ address: '203.0.113.2' });
    const { id } = await activeAccount(registries);
    await owner.signIn(
      await newPerson(database.pool, [{ kind: 'organisation', orgId: id, role: 'owner' }]),
    );
    const mine = formTokenOf((await owner.get('/dashboard/account')).payload);
    const list: Record<string, [string, string]> = { list: ['x.csv', csvOf(['Nothing Like It'])] };
    expect((await owner.upload(PAGE, mine, list)).statusCode).toBe(404);
    for (const form of ['', mine]) {
      expect((await operator.upload(PAGE, form, list)).statusCode).toBe(403);
    }
    expect((await operator.upload(PAGE, mine, {})).statusCode).toBe(403);
    expect(await dashboard.sanctions.staged()).toEqual([]);
    const one = (await upload(csvOf(['Nothing Like It']))).headers.location as string;
    await compare();
    await database.pool.query(
      `update persons.session set confirmed_at = now() - interval '1 hour'`,
    );
    const asked = await operator.send(PAGE, `${one}/apply`);
    expect(asked.payload).toContain('Confirm that it is you');
    // What was shown was compared with another list.
    const before = await versions();
    await createSanctionsStore(database.poolAs('docket_operator'), registries.clock).import(
      {
        source: 'opensanctions',
        version: 'f'.repeat(64),
        fileName: 'x',
        entities: (async function* () {
          yield {
            id: 'a',
            kind: 'other',
            names: [{ name: 'a b', weak: false }],
            programme: '',
            countries: [],
          };
        })(),
        publishedOn: () => null,
      },
      { kind: 'operator', id: 'ada' },
    );
    const late = await operator.send(PAGE, `${one}/apply`, { 'confirming-password': PASSWORD });
    expect([late.statusCode, await versions()]).toEqual([400, ['f'.repeat(64)]]);
    expect(late.payload).toContain('compared anew');
    expect(before).not.toEqual(['f'.repeat(64)]);
    await database.pool.query(
      'update sanctions_list set staged_at = $1 where staged_at is not null',
      [new Date(Date.now() - DAY_MS - 1_000)],
    );
    await compare();
    expect((await operator.get(one)).statusCode).toBe(404);
    expect(left()).toEqual([]);
  });

  it('leaves names of lists that do not wait out of reach of the api’s role', async () => {
    const api = database.poolAs('docket_api');
    const add = `insert into sanctions_name (list_id, entity_id, ordinal, name, kind, weak, programme, countries)
      select id, 'x', 1000000, 'x', 'other', false, '', '{}' from sanctions_list where current limit 1`;
    await expect(api.query(add)).rejects.toThrow('lists that wait');
    await expect(api.query('delete from sanctions_name')).rejects.toThrow('permission denied');
    const { rows } = await api.query<{ gone: boolean }>(
      'select discard_sanctions_list(id) as gone from sanctions_list where current',
    );
    expect(rows.map(({ gone }) => gone)).not.toContain(true);
  });
});
