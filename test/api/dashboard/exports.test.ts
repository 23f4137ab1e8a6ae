import { beforeAll, describe, expect, it, vi } from 'vitest';
import { Span, spanOf } from '#api/routes/fields.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { AWAY } from '#shared/packs/export-record.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { formTokenOf, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import { inferenceRecord, issueReceipts, makeReceiptSigner } from '#test/support/issuing.ts';
import { publishHeads } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { signer } = makeReceiptSigner();
const started = vi.fn<() => void>();
const { errors, newVisitor } = await openDashboardEdge(database, undefined, {
  exports: { start: started },
});
const visitors = {} as Record<'member' | 'auditor' | 'stranger' | 'small', TestBrowser>;
const orgs = {} as Record<'ours' | 'theirs' | 'small', string>;
let ids: string[] = [];

beforeAll(async () => {
  const visitor = (of: string, role: 'owner' | 'member' | 'auditor'): Promise<TestBrowser> =>
    newVisitor({ kind: 'organisation', orgId: of, role });
  orgs.ours = (await activeAccount(registries)).id;
  orgs.theirs = (await activeAccount(registries)).id;
  orgs.small = (await activeAccount(registries, 'audit')).id;
  const ledger = database.poolAs('docket_ledger', 1);
  ids = await issueReceipts(
    { receipts: database.poolAs('docket_receipts', 1), ledger },
    signer,
    Array.from({ length: 30 }, () =>
      inferenceRecord({ orgId: orgs.ours, requestId: newId('req') }),
    ),
  );
  await publishHeads(ledger);
  visitors.member = await visitor(orgs.ours, 'member');
  visitors.auditor = await visitor(orgs.ours, 'auditor');
  visitors.stranger = await visitor(orgs.theirs, 'owner');
  visitors.small = await visitor(orgs.small, 'owner');
});

const words = (page: string): string => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
const exportsOf = (org: string): string => `/dashboard/${org}/exports`;

describe('exports', () => {
  it('a pack is asked for once, watched, and deleted in the person’s name; an auditor makes packs and deletes none [dashboard.exports, dashboard.roles]', async () => {
    const list = exportsOf(orgs.ours);
    expect((await visitors.member.get(list)).payload).toContain('No packs');
    const asked = await visitors.member.send(list, list, { from: '', to: '' });
    const address = asked.headers.location as string;
    expect(started).toHaveBeenCalledOnce();
    const page = (await visitors.auditor.get(address)).payload;
    expect(page).toContain('0 of 30 receipts');
    expect(page).toContain('data-live');
    expect(page).not.toContain('The pack waits.');
    await database.pool.query('update export set error_message = $1', [AWAY.key]);
    const held = (await visitors.auditor.get(address)).payload;
    expect(held).toMatch(/The pack waits\..*The key that seals it cannot be reached\./s);
    expect(held).not.toContain('could not be made');
    expect(page).not.toContain('Cancel');
    const form = formTokenOf((await visitors.auditor.get('/dashboard/account')).payload);
    expect((await visitors.auditor.post(`${address}/delete`, { form })).statusCode).toBe(403);
    for (const act of [list, `${address}/delete`])
      expect((await visitors.member.post(act, {})).statusCode).toBe(403);
    expect((await visitors.member.get(`${address}/pack.zip`)).statusCode).toBe(409);
    const theirs = address.replace(orgs.ours, orgs.theirs);
    const foreign = formTokenOf((await visitors.stranger.get('/dashboard/account')).payload);
    for (const path of ['', '/pack.zip']) {
      expect((await visitors.stranger.get(theirs + path)).statusCode).toBe(404);
      expect((await visitors.stranger.get(address + path)).statusCode).toBe(404);
    }
    expect((await visitors.stranger.post(`${theirs}/delete`, { form: foreign })).statusCode).toBe(
      404,
    );
    const deleted = await visitors.member.send(address, `${address}/delete`);
    expect(deleted.headers.location).toBe(`${list}?done=deleted`);
    expect((await visitors.member.get(address)).statusCode).toBe(404);
    const own = await visitors.auditor.send(list, list, { from: '', to: '' });
    expect(own.headers.location).toMatch(/exports\/exp_/);
    await visitors.member.send(own.headers.location as string, `${own.headers.location}/delete`);
    started.mockClear();
    const log = await registries.audit.list({ orgId: orgs.ours, limit: 2, order: 'desc' });
    expect(log.items.map(({ action, actorKind }) => `${action} ${actorKind}`)).toEqual([
      'export.cancelled user',
      'export.requested user',
    ]);
  });

  it('days without a receipt, what is no day, and a plan without exports are said beside the form [dashboard.exports]', async () => {
    const list = exportsOf(orgs.ours);
    for (const fields of [
      { from: '2020-01-01', to: '2020-01-02' },
      { from: '"><b>', to: '' },
      { from: '2026-02-02', to: '2026-02-01' },
    ]) {
      const reply = await visitors.member.send(list, list, fields);
      expect(reply.statusCode).toBe(400);
      expect(reply.payload).toContain('No pack was made.');
      expect(reply.payload).not.toContain('<b>');
    }
    const small = exportsOf(orgs.small);
    expect((await visitors.small.get(small)).payload).toContain('part of the plans Audit Plus');
    const form = formTokenOf((await visitors.small.get('/dashboard/account')).payload);
    expect((await visitors.small.post(small, { form })).statusCode).toBe(403);
    expect(started).not.toHaveBeenCalled();
    expect(errors).toEqual([]);
  });

  it('`to` says which day is included: usage and exports count the last day whole, the API ends at its midnight, each in words [dashboard.exports, dashboard.usage]', async () => {
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    const [from, to] = [ids[0]!, ids.at(-1)!].map((id) => day(timeOfId(id))) as [string, string];
    const after = day(Date.parse(to) + 86_400_000);
    const requestsUntil = async (end: string): Promise<number> => {
      const range = spanOf({ from: day(Date.parse(from) - 86_400_000), to: end });
      const { total } = await createUsageReader(database.pool).usage({
        orgId: orgs.ours,
        range: { from: range.from!, to: range.to! },
        groupBy: ['model'],
      });
      return total.requests;
    };
    expect(await requestsUntil(after)).toBe(30);
    expect(await requestsUntil(to)).toBeLessThan(30);
    expect(Span.properties.from).toMatchObject({
      description: expect.stringMatching(/; included$/),
    });
    expect(Span.properties.to).toMatchObject({
      description: expect.stringMatching(/; not included: of a day none of it$/),
    });

    const address = `/dashboard/${orgs.ours}/usage?from=${from}&to=${to}&by=model&and=`;
    const usage = (await visitors.auditor.get(address)).payload;
    expect(usage.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')).toMatch(/Total 30 /);
    const list = exportsOf(orgs.ours);
    const today = day(Date.now());
    const asked = await visitors.member.send(list, list, { from, to: today });
    const made = asked.headers.location as string;
    const { period, total } = (await createExportRegistry(database.pool, systemSurroundings).get(
      orgs.ours,
      made.split('/').at(-1)!,
    ))!;
    expect([period?.to, total]).toEqual([Date.parse(today) + 86_400_000, 30]);
    for (const page of [usage, (await visitors.member.get(list)).payload]) {
      expect(page).toContain('To, this day included');
    }
    expect((await visitors.auditor.get(made)).payload).toMatch(/ to \d+ \w+ \d{4}, included/);
    await visitors.member.send(made, `${made}/delete`);
  });

  it('a pack that failed says what is wrong and is made again by one button, for the same days, by those who make packs [dashboard.exports, dashboard.roles]', async () => {
    const list = exportsOf(orgs.ours);
    const today = new Date().toISOString().slice(0, 10);
    const asked = await visitors.member.send(list, list, { from: today, to: today });
    const address = asked.headers.location as string;
    await database.pool.query(
      `update export set status = 'failed', error_code = 'ledger_damaged', error_message = 'It does not add up.',
                finished_at = now() where id = $1`,
      [address.split('/').at(-1)],
    );
    const page = (await visitors.member.get(address)).payload;
    expect(words(page)).toMatch(/It does not add up\. Write to support with exp_/);
    expect(page).toContain('Remove from the list');
    const auditors = (await visitors.auditor.get(address)).payload;
    expect([auditors.includes('Make pack again'), auditors.includes('Remove from')]).toEqual([
      true,
      false,
    ]);
    const days = [...page.matchAll(/name="(from|to)" value="([\d-]+)"/g)];
    expect(days.map(([, name, value]) => [name, value])).toEqual([
      ['from', today],
      ['to', today],
    ]);
    const again = await visitors.member.send(address, list, { from: today, to: today });
    const made = again.headers.location as string;
    expect(made).not.toBe(address);
    expect((await visitors.member.get(made)).payload).toContain('of 30 receipts');
    const failedFor = async (code: string): Promise<string> => {
      await database.pool.query('update export set error_code = $1 where id = $2', [
        code,
        address.split('/').at(-1),
      ]);
      return words((await visitors.member.get(address)).payload);
    };
    expect(await failedFor('given_up')).toMatch(/add up\. Ask for it again.*Make pack again/);
    expect(await failedFor('receipts_expired')).not.toMatch(/Ask for it again|Make pack again/);
    await visitors.member.send(made, `${made}/delete`);
  });
});

describe('the ledger', () => {
  it('shows the signed head, how the log grew, every entry once, and the proof from an older head [dashboard.ledger]', async () => {
    const address = `/dashboard/${orgs.ours}/ledger`;
    const first = (await visitors.auditor.get(`${address}?from=7`)).payload;
    const text = words(first);
    expect(text).toContain('Entries 30');
    expect(text).toContain('30 in the last day');
    expect(text).toContain('from 7 to 30 entries');
    const [, after] = /after=(rcpt_\w+)"/.exec(first)!;
    const second = (await visitors.auditor.get(`${address}?after=${after}`)).payload;
    const linked = [first, second].flatMap((page) =>
      [...page.matchAll(/receipts\/(rcpt_\w+)"/g)].map(([, id]) => id!),
    );
    expect(linked.toSorted()).toEqual(ids.toSorted());
    const file = await visitors.auditor.get(`${address}/checkpoint.txt`);
    expect(file.payload).toBe(
      (await database.pool.query<{ note: string }>('select note from ledger_checkpoint')).rows[0]!
        .note,
    );
    for (const query of [
      'from=x',
      'from=-1',
      'from=31',
      'from=999999999999999999',
      'after=x',
      'from=%27',
    ]) {
      expect((await visitors.auditor.get(`${address}?${query}`)).statusCode).toBe(200);
    }
    for (const path of ['', '/checkpoint.txt']) {
      expect((await visitors.stranger.get(address + path)).statusCode).toBe(404);
    }
    const empty = await visitors.stranger.get(`/dashboard/${orgs.theirs}/ledger`);
    expect(empty.payload).toContain('No signed head yet');
    expect(
      (await visitors.stranger.get(`/dashboard/${orgs.theirs}/ledger/checkpoint.txt`)).statusCode,
    ).toBe(404);
    expect(errors).toEqual([]);
  });
});
