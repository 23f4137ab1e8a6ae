import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { migrateToLatest } from '#migrations/migrate.ts';
import type { DemoAccounts } from '#embedded/demo-accounts.ts';
import { post } from '#test/support/http.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { connectTo } from '#test/support/lanes.ts';
import { expectSigned, integrated, type Receipt } from '#test/support/receipts.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { withDocumentedRights } from '#test/support/redis-rights.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const ROOT = join(import.meta.dirname, '../..');

interface Told {
  id: string;
  text: string;
}

/**
 * What a release before this one left when all of its processes were killed one after another (commit 1abf852, with a
 * deadline of fifty years for requests): every row of PostgreSQL, every key of Redis as DUMP gives it, and the keys. The
 * queues of its jobs by the clock were scheduled apart; of `export-sweep` one had failed by then.
 */
interface Frozen {
  seen: Record<'whole' | 'stream' | 'stored' | 'pending' | 'owed' | 'owedStream', Told> & {
    stored: Told & { body: string };
    export: { id: string };
  };
  demo: DemoAccounts;
  tables: Record<string, object[]>;
  sequences: { name: string; value: string }[];
  redis: [key: string, lifeMs: number, dump: string][];
  files: Record<string, string>;
}

const frozen = JSON.parse(
  gunzipSync(readFileSync(join(ROOT, 'test/fixtures/upgrade/before-format-2.json.gz'))).toString(),
) as Frozen;
const { seen } = frozen;
/** Requests that waited on the inference lane: whole, streamed, with an Idempotency-Key, with a body kept apart. */
const WAITING = 4;
let system: System;
let redisUrl: string;
let migrated: string[];

async function restoreDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase({ empty: true });
  const { pool } = database;
  const applied = frozen.tables['schema_migration'] as { name: string }[];
  const texts = applied.map(({ name }) =>
    readFileSync(join(ROOT, 'migrations', `${name}.sql`), 'utf8'),
  );
  await pool.query(`
    create table schema_migration (name varchar(255) primary key, timestamp varchar(255) not null);
    create table schema_migration_lock (id varchar(255) primary key, is_locked integer not null default 0);
    ${texts.join('\n')}`);
  const client = await pool.connect();
  try {
    // As a restored dump does it: no trigger judges what was judged when it was written.
    await client.query('begin; set local session_replication_role = replica');
    for (const [table, rows] of Object.entries(frozen.tables)) {
      const columns = await client.query<{ names: string }>(
        `select string_agg(quote_ident(column_name), ', ') as names from information_schema.columns
         where table_schema = 'public' and table_name = $1 and is_generated = 'NEVER'`,
        [table],
      );
      const { names } = columns.rows[0]!;
      await client.query(`delete from ${table}`);
      await client.query(
        `insert into ${table} (${names}) overriding system value
         select ${names} from jsonb_populate_recordset(null::${table}, $1)`,
        [JSON.stringify(rows)],
      );
    }
    for (const { name, value } of frozen.sequences) {
      await client.query('select setval($1, $2)', [name, value]);
    }
    await client.query('commit');
  } finally {
    client.release();
  }
  return database;
}

async function restoreRedis(): Promise<string> {
  const { url } = await startTestRedis();
  const client = connectTo(url);
  for (const [key, lifeMs, dump] of frozen.redis) {
    await client.restore(key, Math.max(0, lifeMs), Buffer.from(dump, 'base64'));
  }
  client.disconnect();
  return url;
}

function furnish(directory: string): void {
  for (const [name, content] of Object.entries(frozen.files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, Buffer.from(content, 'base64'), { mode: 0o600 });
  }
  writeFileSync(join(directory, 'demo-keys.json'), JSON.stringify(frozen.demo.keys));
}

beforeAll(async () => {
  const [database, url] = await Promise.all([restoreDatabase(), restoreRedis()]);
  redisUrl = url;
  migrated = await migrateToLatest(database.pool);
  system = await startSystem({ database, redisUrl: await withDocumentedRights(url), furnish });
}, 60_000);

const get = (path: string): Promise<Response> =>
  fetch(`${system.baseUrl}${path}`, { headers: { authorization: `Bearer ${system.key}` } });

const receiptText = async (id: string): Promise<string> => (await get(`/receipts/${id}`)).text();

describe('a store that an earlier release wrote', () => {
  it('serves receipts of before byte for byte, and they verify', async () => {
    expect(migrated[0]).toMatch(/^0017_/);
    for (const { id, text } of [seen.whole, seen.stream, seen.stored, seen.pending]) {
      const served = await receiptText(id);
      expect(text).toContain(served);
      await expectSigned(system, JSON.parse(served) as Receipt);
    }
  });

  it('issues and integrates what was owed, and what had been committed and not integrated', async () => {
    for (const { id } of [seen.pending, seen.owed, seen.owedStream]) {
      await until(async () => {
        const { rowCount } = await system.database.pool.query(
          'select from ledger_entry where entry_id = $1',
          [id],
        );
        return rowCount === 1;
      }, `${id} is in the ledger`);
      await expectSigned(system, JSON.parse(await receiptText(id)) as Receipt);
    }
  });

  it('gives an answer of before back under its Idempotency-Key, with its receipt', async () => {
    const again = await post(system, '/chat/completions', seen.stored.body, {
      'idempotency-key': 'frozen-answer',
    });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(seen.stored.text);
  });

  it('runs every request that waited, once, each with one receipt', async () => {
    const known = frozen.tables['ledger_body']!.length + 2 + WAITING;
    await until(async () => {
      const { rows } = await system.database.pool.query<{ count: number }>(
        `select count(*)::int as count from ledger_entry e join ledger_body b using (entry_id)
         where b.kind = 'inference'`,
      );
      return rows[0]!.count >= known;
    }, 'all have their receipts');
    const claimed = await post(system, '/chat/completions', seen.stored.body, {
      'idempotency-key': 'frozen-claim',
    });
    expect(claimed.status).toBe(200);
    expect(claimed.headers.get('idempotent-replayed')).toBe('true');
    const { rows } = await system.database.pool.query<{ body: Buffer }>(
      'select body from ledger_body where entry_id <> all($1)',
      [frozen.tables['ledger_body']!.map((row) => (row as { entry_id: string }).entry_id)],
    );
    const outcomes = rows.map(
      ({ body }) =>
        (JSON.parse(body.toString()) as { credentialSubject: { outcome: string } })
          .credentialSubject.outcome,
    );
    expect(outcomes).toEqual(Array.from({ length: 2 + WAITING }, () => 'complete'));
  });

  it('does the jobs that waited, leaves nothing of queues that are no more, and fsck finds nothing', async () => {
    const client = connectTo(redisUrl);
    const queues = () => client.keys('{docket-jobs}:export-sweep:*');
    expect(await queues()).toContain('{docket-jobs}:export-sweep:failed');
    await system.start('exports');
    expect(await queues()).toEqual([]);
    client.disconnect();
    await until(async () => {
      const { status } = (await (await get(`/exports/${seen.export.id}`)).json()) as {
        status: string;
      };
      return status === 'ready';
    }, 'the evidence pack is there');
    expect(await integrated(system)).toMatchObject({ gaps: 0 });
    const fsck = await runDocket(['ledger', 'fsck', '--json'], {
      DATABASE_URL: system.database.url,
    });
    expect(fsck, fsck.stdout).toMatchObject({ code: 0 });
  });
});
