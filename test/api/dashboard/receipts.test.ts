import { beforeAll, describe, expect, it } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { activeAccount, createRegistries } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { formTokenOf, openDashboardEdge, type TestBrowser } from '#test/support/dashboard.ts';
import {
  failedRecord,
  inferenceRecord,
  issueReceipts,
  makeReceiptSigner,
  receiptPools,
  UNSIZED,
} from '#test/support/issuing.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { signer } = makeReceiptSigner();
const { app, browser, errors, newVisitor } = await openDashboardEdge(database);
const upstreamAnswerId = `chatcmpl-9f2c41d07be84e63/x?&"`;
const visitors = {} as Record<'member' | 'auditor' | 'stranger' | 'small', TestBrowser>;
let orgId = '';
let ids: string[] = [];
let degraded = '';
let failed = '';
let small = { orgId: '', id: '' };

beforeAll(async () => {
  const visitor = (of: string, role: 'owner' | 'member' | 'auditor'): Promise<TestBrowser> =>
    newVisitor({ kind: 'organisation', orgId: of, role });
  orgId = (await activeAccount(registries)).id;
  const pools = receiptPools(database);
  const records = Array.from({ length: 30 }, (_, i) =>
    inferenceRecord({ orgId, requestId: newId('req', Date.UTC(2026, 10, 20) + i) }),
  );
  ids = await issueReceipts(pools, signer, [
    ...records,
    inferenceRecord({ orgId, upstreamAnswerId, requestId: newId('req') }),
    inferenceRecord({ orgId, model: UNSIZED, requestId: newId('req', Date.UTC(2026, 10, 21)) }),
  ]);
  degraded = ids.at(-1)!;
  [failed = ''] = await issueReceipts(pools, signer, [
    failedRecord({ orgId, requestId: newId('req', Date.UTC(2026, 10, 22)) }),
  ]);
  ids.push(failed);
  small.orgId = (await activeAccount(registries, 'audit')).id;
  [small.id = ''] = await issueReceipts(pools, signer, [
    inferenceRecord({ orgId: small.orgId, requestId: newId('req'), tier: 'audit' }),
  ]);
  visitors.member = await visitor(orgId, 'member');
  visitors.auditor = await visitor(orgId, 'auditor');
  visitors.stranger = await visitor((await activeAccount(registries)).id, 'owner');
  visitors.small = await visitor(small.orgId, 'owner');
});

const list = (of = orgId): string => `/dashboard/${of}/receipts`;

describe('receipts', () => {
  it('a receipt is found by its id, its address, its request and its answer; what is not there is said [dashboard.receipts]', async () => {
    const id = ids.at(-3)!;
    for (const name of [
      id,
      `https://gateway.example/receipts/${id}`,
      id.replace('rcpt_', 'req_'),
      id.replace('rcpt_', 'chatcmpl-'),
      `  ${id} `,
    ]) {
      const reply = await visitors.auditor.get(`${list()}?find=${encodeURIComponent(name)}`);
      expect([name, reply.statusCode, reply.headers.location]).toEqual([
        name,
        303,
        `${list()}/${id}`,
      ]);
    }
    const none = await visitors.auditor.get(`${list()}?find=${encodeURIComponent('"><script>')}`);
    expect(none.statusCode).toBe(200);
    expect(none.payload).toContain('No receipt of this organisation has the id');
    expect(none.payload).not.toContain('"><script>');
  });

  it('the address of a receipt leads a member to its page, a stranger nowhere, and who is not signed in to the ways to it [receipts.address, dashboard.organisations]', async () => {
    const id = ids[0]!;
    const accept = 'text/html,*/*;q=0.8';
    const first = await app.inject({ url: `/receipts/${id}`, headers: { accept } });
    expect([first.statusCode, first.headers.location]).toEqual([303, `/dashboard/receipts/${id}`]);
    const address = first.headers.location!;
    const member = await visitors.member.get(address);
    expect([member.statusCode, member.headers.location]).toEqual([303, `${list()}/${id}`]);
    expect((await visitors.stranger.get(address)).statusCode).toBe(404);
    const nobody = browser({ address: '192.0.2.250' });
    const door = await nobody.get(address);
    expect(door.statusCode).toBe(401);
    expect(door.payload).toContain(`/dashboard/sign-in?to=${address}`);
    expect((await nobody.get("/dashboard/receipts/x'y")).statusCode).toBe(404);
    // The page that verifies asks for it by its id, with the session and by a click.
    expect((await visitors.member.get(`${list()}/${id}`)).payload).toContain(
      `href="/verify#${id}"`,
    );
    const ofVerifier = `${address}/receipt.json`;
    const bytes = await visitors.member.get(ofVerifier);
    expect([bytes.statusCode, JSON.parse(bytes.payload).id.split('/').at(-1)]).toEqual([200, id]);
    const request = id.replace('rcpt_', 'req_');
    const byRequest = await visitors.member.get(`/dashboard/receipts/${request}/receipt.json`);
    expect(byRequest.payload).toBe(bytes.payload);
    // The page as well, by any id of the receipt, its request or its answer.
    const answer = id.replace('rcpt_', 'chatcmpl-');
    for (const name of [request, answer]) {
      const page = await visitors.member.get(`${list()}/${name}`);
      expect(page.headers.location).toBe(`${list()}/${id}`);
      const named = await visitors.member.get(`/dashboard/receipts/${name}`);
      expect(named.headers.location).toBe(`${list()}/${id}`);
    }
    expect((await visitors.stranger.get(ofVerifier)).statusCode).toBe(404);
    expect((await nobody.get(ofVerifier)).statusCode).toBe(401);
    // A person who has signed in comes back to it.
    const back = await visitors.member.get(`/dashboard/sign-in?to=${address}`);
    expect(back.headers.location).toBe(address);
  });

  it('the list has pages that neither repeat nor leave out a receipt, and filters; an address changed by hand is no error [dashboard.receipts]', async () => {
    const linked = (page: string): string[] => [
      ...new Set([...page.matchAll(/receipts\/(rcpt_\w+)"/g)].map(([, id]) => id!)),
    ];
    const first = (await visitors.member.get(list())).payload;
    const [, after] = /after=(rcpt_\w+)"/.exec(first)!;
    const second = (await visitors.member.get(`${list()}?after=${after}`)).payload;
    expect([...linked(first), ...linked(second)]).toEqual(ids.toSorted().toReversed());
    const of = async (query: string): Promise<string[]> =>
      linked((await visitors.member.get(`${list()}?${query}`)).payload);
    expect(await of(`model=${UNSIZED}`)).toEqual([degraded]);
    expect(await of('tier=degraded')).toEqual([degraded]);
    expect(await of('outcome=failed')).toEqual([failed]);
    expect(await of('outcome=refused')).toEqual([]);
    expect(await of('outcome=odd')).toHaveLength(25);
    expect(await of('from=2026-11-21&to=2026-11-21')).toEqual([degraded]);
    expect(await of('from=2026-11-20&to=2026-11-20')).toHaveLength(25);
    expect((await of('sort=oldest')).slice(0, 3)).toEqual(ids.toSorted().slice(0, 3));
    expect(await of('region=nowhere')).toEqual([]);
    const { rows } = await database.pool.query<{ key_id: string }>(
      'select key_id from ledger_body where entry_id = $1',
      [degraded],
    );
    expect(await of(`key=${rows[0]!.key_id}&tier=degraded`)).toEqual([degraded]);
    expect(await of('key=key_of_another')).toEqual([]);
    for (const query of [
      'from=x',
      'to=9999-99-99',
      'sort=odd',
      'after=x',
      `after=${small.id}`,
      'model=%00',
      'tier=%27',
      'find=%00',
    ]) {
      const { statusCode } = await visitors.member.get(`${list()}?${query}`);
      expect(statusCode).toBe(query.includes('%00') ? 400 : 200);
    }
    expect(errors).toEqual([]);
  });

  it('sorted by a figure, receipts without one come last; the CSV has what the filters say, states of each what the receipt states, and refuses a filter that cannot be [dashboard.receipts]', async () => {
    const own = (await activeAccount(registries)).id;
    const auditor = await newVisitor({ kind: 'organisation', orgId: own, role: 'auditor' });
    const at = (minute: number) => newId('req', Date.UTC(2026, 10, 20, 9, minute));
    const record = inferenceRecord({ orgId: own, requestId: at(0) });
    const usage = { ...record.usage, outputTokens: record.usage.outputTokens * 3 };
    const [little = '', much = '', none = '', evil = ''] = await issueReceipts(
      receiptPools(database),
      signer,
      [
        record,
        { ...record, requestId: at(1), usage },
        inferenceRecord({ orgId: own, model: UNSIZED, requestId: at(2) }),
        { ...record, requestId: at(3), model: '=1+1' },
      ],
    );
    for (const sort of ['energy', 'gwp']) {
      const { payload } = await auditor.get(`${list(own)}?sort=${sort}`);
      const rows = [...payload.matchAll(/receipts\/(rcpt_\w+)"/g)].map(([, id]) => id);
      expect([sort, rows[0], new Set(rows.slice(-2))]).toEqual([sort, much, new Set([none, evil])]);
      expect(payload).toContain('All receipts of these days were looked at');
    }
    const csv = async (query: string) => auditor.get(`${list(own)}.csv?${query}`);
    const all = (await csv('sort=oldest')).payload.trim().split('\r\n');
    expect(all.map((line) => line.split(',')[1])).toEqual(['id', little, much, none, evil]);
    expect(all[4]).toContain(",'=1+1,");
    const { body } = (
      await database.pool.query<{ body: Buffer }>(
        'select body from ledger_body where entry_id = $1',
        [much],
      )
    ).rows[0]!;
    const { measurement } = JSON.parse(body.toString()) as {
      measurement: { result: { quantityKind: string; value: string }[] };
    };
    const energy = measurement.result.find(({ quantityKind }) => quantityKind === 'energy')!;
    const column = all[0]!.split(',').indexOf('energy_kwh');
    expect(all[2]!.split(',')[column]).toBe(energy.value);
    const degradedAlone = (await csv('tier=degraded')).payload.trim().split('\r\n');
    expect(degradedAlone.slice(1).map((line) => line.split(',')[1])).toEqual([evil, none]);
    expect((await csv('from=2026-13-01')).statusCode).toBe(400);
    expect((await visitors.stranger.get(`${list(own)}.csv`)).statusCode).toBe(404);
  });

  it('a page has each figure with its interval, every step with its formula, sources, the key, and the place in the ledger [dashboard.receipts]', async () => {
    const { payload } = await visitors.auditor.get(`${list()}/${ids[0]}`);
    const text = payload.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
    expect(text).toMatch(/Energy [\d.]+ \wWh \[[\d.]+–[\d.]+\]/);
    expect(text).toMatch(/E_it IT energy, with host and idle machines/);
    expect(text).toMatch(/Licence: CC BY 4.0/);
    expect(text).toMatch(/Entry 0, /);
    expect(text).toContain('Decode: writing the answer');
    // The keys of this service are not those that signed it.
    expect(text).toContain('does not verify');
    const shares = [...payload.matchAll(/<td class="num">(< )?([\d.]+)\s%<\/td>/g)];
    const sum = shares.reduce((all, [, , share]) => all + Number(share), 0);
    expect(Math.abs(sum - 100)).toBeLessThan(3);
  });

  it('what is downloaded is the exact bytes; nothing of another organisation’s is to be had [dashboard.receipts, dashboard.organisations]', async () => {
    const { rows } = await database.pool.query<{ body: Buffer }>(
      'select body from ledger_body where entry_id = $1',
      [ids[0]],
    );
    const file = await visitors.auditor.get(`${list()}/${ids[0]}/receipt.json`);
    expect(file.rawPayload.equals(rows[0]!.body)).toBe(true);
    expect(file.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-disposition': `attachment; filename="${ids[0]}.json"`,
    });
    const lineage = await visitors.auditor.get(`${list()}/${ids[0]}/lineage.json`);
    expect(JSON.parse(lineage.payload)).toHaveProperty('measurement.steps');
    const theirs = /dashboard\/(org_\w+)/.exec(
      (await visitors.stranger.get('/dashboard')).headers.location as string,
    )![1]!;
    for (const path of ['', '/receipt.json', '/proof.txt', '/lineage.json']) {
      for (const address of [`${list()}/${ids[0]}${path}`, `${list(theirs)}/${ids[0]}${path}`]) {
        expect([address, (await visitors.stranger.get(address)).statusCode]).toEqual([
          address,
          404,
        ]);
      }
    }
    const found = await visitors.stranger.get(`${list(theirs)}?find=${ids[0]}`);
    expect(found.payload).toContain('No receipt of this organisation');
    const form = formTokenOf((await visitors.stranger.get('/dashboard/account')).payload);
    const flagged = await visitors.stranger.post(`${list(theirs)}/${degraded}/flag`, { form });
    expect(flagged.statusCode).toBe(404);
  });

  it('a receipt of a failure says that nothing came of its calls, and is not to be estimated again [receipts.failed, dashboard.receipts]', async () => {
    const page = (await visitors.member.get(`${list()}/${failed}`)).payload;
    for (const said of ['The request failed.', 'upstream_error', 'signature holds'])
      expect(page).toContain(said);
    expect(page).not.toContain(`${failed}/flag`);
    expect(page).not.toContain('Not estimated.');
  });

  it('a degraded receipt says why it has no figures, and is flagged once, in the person’s name, not by an auditor or without its form [dashboard.receipts, dashboard.roles]', async () => {
    const address = `${list()}/${degraded}`;
    const { payload } = await visitors.auditor.get(address);
    expect(payload).toContain('Not estimated.');
    expect(payload).not.toContain('Flag for recalculation');
    const form = formTokenOf(payload);
    expect((await visitors.auditor.post(`${address}/flag`, { form })).statusCode).toBe(403);
    expect((await visitors.member.post(`${address}/flag`, {})).statusCode).toBe(403);
    const flagged = await visitors.member.send(address, `${address}/flag`, {
      reason: 'the size\nis published <now>',
    });
    expect(flagged.headers.location).toBe(`${address}?done=flagged`);
    const again = await visitors.member.send(address, `${address}/flag`);
    expect(again.statusCode).toBe(409);
    const log = await registries.audit.list({ orgId, limit: 1, order: 'desc' });
    expect(log.items[0]).toMatchObject({
      action: 'receipt.recalculation_requested',
      subject: degraded,
      actorKind: 'user',
      reason: 'the size is published <now>',
    });
  });

  it('steps and lineage are part of the plans that have them [dashboard.receipts]', async () => {
    const address = `${list(small.orgId)}/${small.id}`;
    const { payload } = await visitors.small.get(address);
    expect(payload).toMatch(/part of the plans Audit Plus\s+and/);
    expect(payload).not.toContain('E_it');
    expect((await visitors.small.get(`${address}/lineage.json`)).statusCode).toBe(404);
  });
});
