import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeUlid } from '#shared/kernel/ids.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { ARCHIVED_BODIES } from '#shared/ledger/body-archive.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { type ArchivingStep, archiveBodies } from '#shared/ledger/postgres/body-archiving.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { createDirectoryStore } from '#shared/packs/files/directory.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { createHourStore } from '#shared/receipts/postgres/hour-store.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  collectFindings,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipt,
  originOf,
  type SubmittedReceipt,
  submitReceipts,
  tamper,
} from '#test/support/ledger.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts');
const ledger = database.poolAs('docket_ledger');
const housekeeping = database.poolAs('docket_housekeeping');
const operator = database.poolAs('docket_operator', 1);
const api = database.poolAs('docket_api');
const exportsPool = database.poolAs('docket_exports', 2);
const recalculation = database.poolAs('docket_recalculation', 1);
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();
const directory = mkdtempSync(join(tmpdir(), 'docket-archive-'));
afterAll(() => rmSync(directory, { recursive: true }));
const store = createDirectoryStore(directory, ARCHIVED_BODIES);
const archive = createBodyArchive(store);
const reader = createLedgerReader(api, undefined, archive);

const monthOf = (month: number): [name: string, from: string, to: string] => {
  const idAt = (at: number): string => `rcpt_${encodeUlid(at, new Uint8Array(10)).slice(0, 10)}`;
  const first = Date.UTC(2024, month - 1);
  const name = `ledger_body_${new Date(first).toISOString().slice(0, 7).replace('-', '_')}`;
  return [name, idAt(first), idAt(Date.UTC(2024, month))];
};
/** Each test has a month of its own. */
let month = 0;
let [partition, from, to] = monthOf(1);

let ms = 0;
/** Each later than the one before. */
const old = (orgId: string, body?: string): SubmittedReceipt => {
  const at = Date.UTC(2024, month - 1, 15) + (ms += 10);
  const id = `rcpt_${encodeUlid(at, crypto.getRandomValues(new Uint8Array(10)))}`;
  return makeReceipt(orgId, { id, ...(body === undefined ? {} : { body: Buffer.from(body) }) });
};

/** Integrated and signed. */
async function issue(all: readonly SubmittedReceipt[]): Promise<void> {
  await submitReceipts(receipts, all);
  await integrateAll(ledger);
  const cose = { issuer: 'did:web:gateway.example', kid: 'did:web:gateway.example#heads' };
  await publishCheckpoints(ledger, { signer, memory, originOf, cose, limit: 100, intervalMs: 0 });
}

/** Runs until there is nothing more to do, or `observe` throws. */
async function run(observe: (step: ArchivingStep) => void = () => {}, to_: ObjectStore = store) {
  const steps: ArchivingStep[] = [];
  const options = { store: to_, before: new Date(Date.UTC(2024, month)), objectBytesMax: 2_000 };
  const { signal } = new AbortController();
  const told = (step: ArchivingStep): void => {
    steps.push(step);
    observe(step);
  };
  await archiveBodies(housekeeping, { ...options, signal, observe: told });
  return steps;
}

/** How many receipts of the test's month have their bodies in PostgreSQL, by organisation. */
async function online(): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ org_id: string; count: number }>(
    `select org_id, count(body)::int from ledger_body where entry_id >= $1 and entry_id < $2 group by 1 order by 1`,
    [from, to],
  );
  return Object.fromEntries(rows.map((row) => [row.org_id, row.count]));
}

const insertAccount = (orgId: string, held: boolean): Promise<unknown> =>
  database.pool.query(
    `insert into account (id, name, plan, billing_name, billing_email, technical_name, technical_email, legal_hold, created_at, state_changed_at)
     values ($1, 'A', 'enterprise', 'A', 'a@a.example', 'A', 'a@a.example', $2, now(), now())`,
    [orgId, held],
  );

const fsck = (orgId: string, from_: BodyArchive = archive) =>
  collectFindings(operator, {
    orgId,
    archive: from_,
    signatures: checkSignaturesOf([signer.publicKey]),
  });

/** Runs until the first step of this name, and dies after it. */
const runUntil = (last: ArchivingStep['step']) =>
  expect(
    run(({ step }) => {
      if (step === last) throw new Error('killed');
    }),
  ).rejects.toThrow('killed');

/** What a partition has beside its rows, with its own name and those of indexes left out. */
async function catalogue(): Promise<unknown> {
  const named = (sql: string): string =>
    `regexp_replace(${sql}, 'ledger_body_\\d{4}\\w*', '-', 'g')`;
  const { rows } = await database.pool.query(
    `select c.relowner::regrole as owner, c.reloptions, c.relacl, c.relreplident, c.relpersistence,
       pg_get_expr(c.relpartbound, c.oid) as bound,
       array(select ${named('pg_get_indexdef(i.indexrelid)')} from pg_index i where i.indrelid = c.oid order by 1) as indexes,
       array(select ${named('pg_get_triggerdef(t.oid)')} || t.tgenabled::text from pg_trigger t where t.tgrelid = c.oid order by 1) as triggers,
       array(select o.contype::text || ' ' || o.convalidated || ' ' || ${named('pg_get_constraintdef(o.oid)')}
         from pg_constraint o where o.conrelid = c.oid order by 1) as constraints,
       array(select format('%s %s %s %s %s', a.attname, a.atttypid::regtype, a.attstorage, a.attstattarget, a.attnotnull)
         from pg_attribute a where a.attrelid = c.oid and a.attnum > 0 order by a.attnum) as columns
     from pg_class c where c.relname = $1`,
    [partition],
  );
  return rows[0];
}

let orgs = 0;
let [orgA, orgB] = ['', ''];
beforeEach(async () => {
  month += 1;
  [partition, from, to] = monthOf(month);
  orgs += 1;
  [orgA, orgB] = [`org_${orgs}a`, `org_${orgs}b`];
  await database.pool.query(
    `create table ${partition} (like ledger_body including all);
     alter table ledger_body attach partition ${partition} for values from ('${from}') to ('${to}')`,
  );
});

describe('bodies that move to the archive', () => {
  it('a receipt, lists, bundles, packs and fsck have the same bytes before and after, each organisation its own', async () => {
    const large = `{"long":"${'é'.repeat(30_000)}"}`;
    const own = [...Array.from({ length: 299 }, () => old(orgA)), old(orgA, large)];
    const others = Array.from({ length: 70 }, () => old(orgB));
    await issue([...own, ...others, makeReceipt(orgA)]);
    const source = createPackSource(exportsPool, undefined, archive);
    const all = async () => ({
      list: await reader.listReceipts({ orgId: orgA, order: 'asc', limit: 500 }),
      bundles: [
        await reader.tile(orgA, { level: 'entries', index: 0, width: 256 }),
        await reader.tile(orgA, { level: 'entries', index: 1, width: 45 }),
      ],
      packed: await source.entries(orgA, 0, 301, 301),
      columns: (
        await database.pool.query(
          `select (to_jsonb(b) - 'body')::text from ledger_body b where entry_id >= $1 and entry_id < $2 order by entry_id`,
          [from, to],
        )
      ).rows,
    });
    const before = await all();
    expect(before.list.items.length).toBe(301);
    const steps = await run();
    expect(steps.filter(({ step }) => step === 'recorded').length).toBeGreaterThan(2);
    expect(await online()).toEqual({ [orgA]: 0, [orgB]: 0 });
    expect(await all()).toEqual(before);
    for (const { id, body } of [own[0]!, own[299]!]) {
      expect(Buffer.compare((await reader.receipt(orgA, id))!.body, body)).toBe(0);
      expect(await reader.receipt(orgB, id)).toBeNull();
    }
    expect([...(await fsck(orgA)), ...(await fsck(orgB))]).toEqual([]);
    // The month is append-only as before, and nothing is left to do.
    await expect(
      database.pool.query('delete from ledger_body where org_id = $1', [orgA]),
    ).rejects.toThrow('append-only');
    await expect(database.pool.query(`truncate ${partition}`)).rejects.toThrow('append-only');
    expect(await run()).toEqual([]);
  });

  it('a process that dies between any two steps loses nothing, and the next goes on', async () => {
    const own = [old(orgA), old(orgB), old(orgA, `{"x":"${'a'.repeat(4_000)}"}`)];
    await issue(own);
    const died: string[] = [];
    // Each run dies after a step that none has died after before; the last one after none.
    for (let isOver = false; !isOver;) {
      isOver = await run(({ step, ...what }) => {
        const name = `${step} ${'orgId' in what ? what.orgId : ''}`.trim();
        if (died.includes(name)) return;
        died.push(name);
        throw new Error('killed');
      }).then(
        () => true,
        () => false,
      );
      for (const { id, orgId, body } of own) {
        expect(Buffer.compare((await reader.receipt(orgId, id))!.body, body)).toBe(0);
      }
    }
    expect(died).toEqual([
      `written ${orgA}`,
      `recorded ${orgA}`,
      `written ${orgB}`,
      `recorded ${orgB}`,
      'copied',
      'removed',
    ]);
    expect(await online()).toEqual({ [orgA]: 0, [orgB]: 0 });
    expect([...(await fsck(orgA)), ...(await fsck(orgB))]).toEqual([]);
  });

  it('receipts that come late into a month that is being copied stay, and have it copied anew', async () => {
    const [first, within, last, after] = [old(orgA), old(orgA), old(orgA), old(orgB)];
    await issue([first, last]);
    const killed = run(({ step }) => {
      if (step === 'copied') throw new Error('killed');
    });
    await expect(killed).rejects.toThrow('killed');
    await submitReceipts(receipts, [within, after]);
    const steps = await run();
    expect(steps.map(({ step }) => step)).toEqual(['copied', 'removed']);
    // The block is not any more of all receipts between its first and its last, so none of it is removed.
    expect(await online()).toEqual({ [orgA]: 3, [orgB]: 1 });
    await integrateAll(ledger);
    await run();
    expect(await online()).toEqual({ [orgA]: 3, [orgB]: 0 });
    for (const { id, orgId, body } of [first, within, last, after]) {
      expect(Buffer.compare((await reader.receipt(orgId, id))!.body, body)).toBe(0);
    }
    expect([...(await fsck(orgA)), ...(await fsck(orgB))]).toEqual([]);
  });

  it('housekeeping removes no body that the archive has no record of, and changes no row or rule of the month', async () => {
    // As housekeeping makes them.
    await database.pool.query(
      `alter table ${partition} set (toast_tuple_target = 4080);
       select ledger_sample_less('${partition}');
       create trigger ledger_body_no_truncate before truncate on ${partition} for each statement execute function ledger_refuse()`,
    );
    await issue([old(orgA)]);
    const before = await catalogue();
    expect(before).toMatchObject({
      reloptions: expect.arrayContaining([
        expect.stringMatching(/^toast_tuple_target=\d+$/),
        'autovacuum_vacuum_insert_threshold=10000',
      ]),
    });
    const rewrite = `select rewrite_ledger_month('2024-${month}-15Z', 1000) as done`;
    const steps = [await housekeeping.query(rewrite), await housekeeping.query(rewrite)];
    expect(steps.map(({ rows }) => rows[0].done)).toEqual([false, true]);
    expect(await online()).toEqual({ [orgA]: 1 });
    expect(await catalogue()).toEqual(before);
    await expect(housekeeping.query('update ledger_body set body = null')).rejects.toThrow(
      'denied',
    );
    await expect(api.query(rewrite)).rejects.toThrow('denied');
    await expect(housekeeping.query(`select rewrite_ledger_month(now(), 1)`)).rejects.toThrow(
      'not over',
    );
  });

  it('receipts under a legal hold, and those that are not integrated or not as logged, stay', async () => {
    await insertAccount(orgA, true);
    const [waiting, damaged, moving] = [`org_${orgs}c`, `org_${orgs}d`, `org_${orgs}e`];
    const broken = old(damaged);
    await issue([old(orgA), broken, old(moving)]);
    await submitReceipts(receipts, [old(waiting)]);
    await tamper(
      database.pool,
      `update ledger_body set body = convert_to('{}', 'UTF8') where entry_id = $1`,
      [broken.id],
    );
    const steps = await run();
    expect(steps).toContainEqual(expect.objectContaining({ step: 'refused', orgId: damaged }));
    expect(await online()).toEqual({ [orgA]: 1, [waiting]: 1, [damaged]: 1, [moving]: 0 });
    const drop = `select drop_ledger_bodies('2024-${month}-15Z')`;
    await integrateAll(ledger);
    await expect(database.pool.query(drop)).rejects.toThrow(`${orgA} has receipts of that month`);
    await database.pool.query('update account set legal_hold = false where id = $1', [orgA]);
    await run();
    expect(await online()).toEqual({ [orgA]: 0, [waiting]: 0, [damaged]: 1, [moving]: 0 });
    // A month that retention drops is not read from the archive either.
    await database.pool.query(drop);
    expect(await fsck(moving)).toMatchObject([{ kind: 'bodies_expired' }]);
    const { rowCount } = await database.pool.query(
      'select from ledger_archive where first_id >= $1 and first_id < $2 and dropped_at is not null',
      [from, to],
    );
    expect(rowCount).toBe(3);
  });

  it('a body that is read holds no memory of the others in its block', async () => {
    const all = Array.from({ length: 32 }, () => old(orgA, `{"x":"${'é'.repeat(4_000)}"}`));
    await issue(all);
    await run();
    const { body } = (await reader.receipt(orgA, all[7]!.id))!;
    // Node's own pool, which small copies share, has 64 KiB.
    expect(body.buffer.byteLength).toBeLessThan(100_000);
  });

  it('a legal hold that is set has no month dropped behind it', async () => {
    await insertAccount(orgA, false);
    await issue([old(orgA)]);
    const dropping = await database.pool.connect();
    await dropping.query(`begin; select drop_ledger_bodies('2024-${month}-15Z')`);
    let isSet = false;
    const hold = database.pool
      .query('update account set legal_hold = true where id = $1', [orgA])
      .then(() => (isSet = true));
    try {
      const waiting = `select from pg_locks where locktype = 'advisory' and not granted`;
      while ((await database.pool.query(waiting)).rowCount === 0) expect(isSet).toBe(false);
    } finally {
      await dropping.query('commit');
      dropping.release();
    }
    expect(await hold).toBe(true);
    expect(await online()).toEqual({});
  });
});

describe('bodies that the archive has, before they are removed', () => {
  it('bodies stay under a legal hold that begins once they are recorded, or copied, and go when it ends', async () => {
    await insertAccount(orgA, false);
    await issue([old(orgA), old(orgB)]);
    const hold = (on: boolean): Promise<unknown> =>
      database.pool.query('update account set legal_hold = $2 where id = $1', [orgA, on]);
    await runUntil('copied');
    await hold(true);
    await run();
    expect(await online()).toEqual({ [orgA]: 1, [orgB]: 0 });
    expect(await run()).toEqual([]);
    await hold(false);
    await run();
    expect(await online()).toEqual({ [orgA]: 0, [orgB]: 0 });
    expect([...(await fsck(orgA)), ...(await fsck(orgB))]).toEqual([]);
  });

  it('receipts are committed while the swap waits for what vacuums the copy', async () => {
    await issue([old(orgA)]);
    await runUntil('copied');
    const vacuum = await database.pool.connect();
    await vacuum.query('begin');
    await vacuum.query(`lock table ${partition}_copy in share update exclusive mode`);
    let isOver = false;
    const swap = run().catch(() => {
      isOver = true;
    });
    try {
      const waiting = `select from pg_locks where relation = '${partition}_copy'::regclass and not granted`;
      while ((await database.pool.query(waiting)).rowCount === 0) expect(isOver).toBe(false);
      await submitReceipts(receipts, [makeReceipt(orgB)]);
      expect(isOver).toBe(false);
      await swap;
    } finally {
      await vacuum.query('rollback');
      vacuum.release();
    }
    await run();
    expect(await online()).toEqual({ [orgA]: 0 });
  });

  it('bodies stay of a block in which another begins, as two processes may record them', async () => {
    const own = Array.from({ length: 3 }, () => old(orgA));
    await issue(own);
    await runUntil('recorded');
    await housekeeping.query(
      `insert into ledger_archive_block (org_id, first_id, last_id, receipts, object, start, bytes)
       values ($1, $2, $2, 1, $3, 0, 1)`,
      [orgA, own[1]!.id, 'f'.repeat(64)],
    );
    await run();
    expect(await online()).toEqual({ [orgA]: 2 });
    expect((await reader.receipt(orgA, own[2]!.id))!.id).toBe(own[2]!.id);
  });
});

describe('an archive that is away, or not as it was', () => {
  let receipt: SubmittedReceipt;
  let theirs: SubmittedReceipt;
  beforeEach(async () => {
    receipt = { ...old(orgA), region: 'eu-west' };
    theirs = { ...old(orgB), region: 'eu-west' };
    await issue([receipt, old(orgA), theirs]);
    await run();
  });

  it('a store that is away, or hangs, is said as 503 store_unavailable, and no body goes there', async () => {
    const away = { ...store, read: () => Promise.reject(new Error('ECONNREFUSED')) };
    const cut = createLedgerReader(api, undefined, createBodyArchive(away));
    await expect(cut.receipt(orgA, receipt.id)).rejects.toMatchObject({
      code: 'store_unavailable',
      status: 503,
      retryAfterMs: 1_000,
    });
    await expect(cut.listReceipts({ orgId: orgA, order: 'asc', limit: 9 })).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    // Nor is a directory that is not there, as that of a volume that is not mounted, one that has lost its objects.
    const unmounted = createBodyArchive(
      createDirectoryStore(join(directory, 'unmounted'), ARCHIVED_BODIES),
    );
    await expect(fsck(orgA, unmounted)).rejects.toMatchObject({ code: 'store_unavailable' });
    month += 1;
    [partition, from, to] = monthOf(month);
    await database.pool.query(
      `create table ${partition} (like ledger_body including all);
       alter table ledger_body attach partition ${partition} for values from ('${from}') to ('${to}')`,
    );
    await issue([old(orgA)]);
    await expect(run(undefined, away)).rejects.toMatchObject({ code: 'store_unavailable' });
    // One that takes objects and gives back others has nothing that is recorded.
    const lying = createDirectoryStore(join(directory, 'lying'), ARCHIVED_BODIES);
    const other: ObjectStore = {
      ...lying,
      read: async (key, range) =>
        (await store.read(key, range)) ?? lying.read('f'.repeat(64), range),
    };
    expect(await run(undefined, other)).toContainEqual(
      expect.objectContaining({ step: 'refused' }),
    );
    // Nor has one that lacks what moved before, as another volume or bucket does.
    await expect(run(undefined, lying)).rejects.toThrow('RECEIPT_ARCHIVE does not have');
    expect(await online()).toEqual({ [orgA]: 1 });
  });

  it('a body that was changed or lost in the archive is refused to readers, and named by fsck', async () => {
    const { rows } = await database.pool.query<{ object: string }>(
      'select object from ledger_archive where org_id = $1',
      [orgA],
    );
    const path = join(directory, `${rows[0]!.object}.ndjson.zst`);
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    // Of the first body, which is stored as it is.
    changed[changed.indexOf(receipt.id)]! ^= 1;
    for (const damage of [() => writeFileSync(path, changed), () => rmSync(path)]) {
      damage();
      await expect(reader.receipt(orgA, receipt.id)).rejects.toThrow('run docket ledger fsck');
      await expect(reader.tile(orgA, { level: 'entries', index: 0, width: 2 })).rejects.toThrow(
        /fsck/,
      );
      expect(await fsck(orgA)).toContainEqual(
        expect.objectContaining({
          kind: 'body_altered',
          severity: 'damage',
          detail: expect.stringContaining('archive'),
          subject: expect.stringContaining(receipt.id),
        }),
      );
      // Another organisation's objects are others, and what revises receipts of all goes on with those.
      expect(await fsck(orgB)).toEqual([]);
      const hours = createHourStore(recalculation, archive);
      const { receipts: due } = await hours.page(Date.UTC(2024, month - 1, 15), ['eu-west'], '', 9);
      expect(due.map(({ receiptId }) => receiptId)).toEqual([receipt.id, theirs.id]);
      expect(() => parseReceipt(due[0]!.bytes)).toThrow(MalformedData);
      expect(Buffer.compare(due[1]!.bytes, theirs.body)).toBe(0);
    }
    writeFileSync(path, bytes);
    expect(await fsck(orgA)).toEqual([]);
    expect(readdirSync(directory).length).toBeGreaterThan(1);
  });
});
