import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { ensureDatabaseLogins } from '#embedded/stores/database-logins.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool, type DatabaseRole } from '#shared/kernel/postgres/pool.ts';
import { ROLES } from '#shared/config/settings.ts';
import { queryOnce, withDatabase } from '#test/support/sql.ts';

const CONNECTING = ROLES.filter((role) => role !== 'inference');
let home: string;
let server: EmbeddedPostgres;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'docket-logins-'));
  server = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), durable: false });
  await migrateToLatest(server.url);
});
afterAll(async () => {
  await server.stop();
  rmSync(home, { recursive: true, force: true });
});

/** Connects as a process does, its role named at the start besides. */
async function readAs(url: string, role: DatabaseRole): Promise<void> {
  const pool = createPool({ url, role, max: 1, applicationName: 't' });
  await pool.query('select from schema_migration');
  await pool.end();
}

/** A database on the same server that a login without further rights owns, and a data directory of its own. */
async function makeOthersDatabase(owner: string): Promise<{ ownerUrl: string; dataDir: string }> {
  await queryOnce(server.url, `create role ${owner} login password 'owner'`);
  await queryOnce(server.url, `create database ${owner} owner ${owner}`);
  const roles = [...CONNECTING, 'operator'].map((role) => `docket_${role}`).join(', ');
  await queryOnce(server.url, `grant ${roles} to ${owner} with set true, inherit false`);
  const url = new URL(withDatabase(server.url, owner));
  url.username = owner;
  url.password = 'owner';
  await migrateToLatest(url.href);
  const dataDir = join(home, owner);
  mkdirSync(dataDir);
  return { ownerUrl: url.href, dataDir };
}

it('each process logs in as its own role, and stepping back or up gains it nothing', async () => {
  const options = { ownerUrl: server.url, dataDir: home, ours: true, background: [] };
  const urls = await ensureDatabaseLogins(options);
  expect(await ensureDatabaseLogins(options)).toEqual(urls);
  expect(new URL(urls.inference).password).toBe('');
  const passwords = new Set(ROLES.map((role) => new URL(urls[role]).password));
  expect(passwords.size).toBe(ROLES.length);
  expect(passwords).not.toContain(new URL(server.url).password);
  for (const role of CONNECTING) {
    expect(statSync(join(home, `database-${role}.password`)).mode & 0o777).toBe(0o600);
    await readAs(urls[role], `docket_${role}`);
    const client = new Client({ connectionString: urls[role] });
    await client.connect();
    for (const step of ['set role none', 'reset role', 'reset session authorization']) {
      await client.query(step);
      const { rows } = await client.query<{ me: string; super: boolean }>(
        `select current_user as me, rolsuper or rolcreaterole or rolcreatedb as super
         from pg_roles where rolname = current_user`,
      );
      expect(rows).toEqual([{ me: `docket_${role}`, super: false }]);
      await expect(client.query('drop table receipt_pending')).rejects.toThrow(/must be owner/);
    }
    const others = ['docket', ...CONNECTING.filter((one) => one !== role)];
    for (const other of others) {
      const name = other === 'docket' ? other : `docket_${other}`;
      await expect(client.query(`set role ${name}`)).rejects.toThrow(/permission denied/);
    }
    await client.end();
  }
});

it('the process that roles share logs in as one that may act as each of them, and as no other', async () => {
  const mayAct = async (url: string): Promise<string[]> => {
    const acting: string[] = [];
    for (const role of CONNECTING) {
      await readAs(url, `docket_${role}`).then(
        () => acting.push(role),
        (error: unknown) => expect(String(error)).toMatch(/permission denied/),
      );
    }
    return acting;
  };
  const owned = { ownerUrl: server.url, dataDir: home, ours: true };
  const first = await ensureDatabaseLogins({ ...owned, background: ['ledger', 'purge'] });
  expect(new URL(first.background).username).toBe('docket_background');
  expect(await mayAct(first.background)).toEqual(['ledger', 'purge']);
  const client = new Client({ connectionString: first.background });
  await client.connect();
  // By itself it has no rights, and those of its roles only when it acts as one.
  await expect(client.query('select from receipt_pending')).rejects.toThrow(/permission denied/);
  await client.end();
  const second = await ensureDatabaseLogins({ ...owned, background: ['purge', 'exports'] });
  expect(second.background).toBe(first.background);
  expect(await mayAct(second.background)).toEqual(['exports', 'purge']);
});

describe('a PostgreSQL that was there before', () => {
  it('an owner who may make logins is given to no process: each gets one that can act as its role and nothing else', async () => {
    const ours = await ensureDatabaseLogins({
      ownerUrl: server.url,
      dataDir: home,
      ours: true,
      background: [],
    });
    const others = await makeOthersDatabase('app');
    const roles = CONNECTING.map((role) => `docket_${role}`).join(', ');
    await queryOnce(server.url, 'alter role app createrole');
    await queryOnce(server.url, `grant ${roles} to app with admin option`);
    const urls = await ensureDatabaseLogins({ ...others, ours: false, background: [] });
    expect(await ensureDatabaseLogins({ ...others, ours: false, background: [] })).toEqual(urls);
    expect(new URL(urls.inference).username).toBe('');
    for (const role of CONNECTING) {
      expect(urls[role]).not.toContain(':owner@');
      await readAs(urls[role], `docket_${role}`);
      // The processes of the other database on this server go on with their logins.
      await readAs(ours[role], `docket_${role}`);
      const client = new Client({ connectionString: urls[role] });
      await client.connect();
      await client.query('set role none');
      await expect(client.query('select from account')).rejects.toThrow(/permission denied/);
      for (const other of ['app', 'docket', ...CONNECTING.filter((one) => one !== role)]) {
        const name = other === 'app' || other === 'docket' ? other : `docket_${other}`;
        await expect(client.query(`set role ${name}`)).rejects.toThrow(/permission denied/);
      }
      await client.end();
    }
  });

  it('an owner who may not make logins is refused, and after what the refusal says to run it may', async () => {
    const others = await makeOthersDatabase('modest');
    const refusal: unknown = await ensureDatabaseLogins({
      ...others,
      ours: false,
      background: [],
    }).catch((error: unknown) => error);
    const { message } = refusal as Error;
    expect(message).toMatch(/^The login modest of DATABASE_URL may not make a login for each/);
    expect(message).not.toMatch(/\n|password|:owner@/);
    for (const statement of message.match(/(?:alter|grant) [^;]+;/g)!) {
      await queryOnce(server.url, statement);
    }
    const urls = await ensureDatabaseLogins({ ...others, ours: false, background: [] });
    await readAs(urls.api, 'docket_api');
  });

  it('the passwords of logins stand in no statement, which a server writes to its log', async () => {
    const spy = vi.spyOn(Client.prototype, 'query');
    const urls = await ensureDatabaseLogins({
      ownerUrl: server.url,
      dataDir: home,
      ours: true,
      background: [],
    });
    const statements = spy.mock.calls.map(([text]) => text).join('\n');
    spy.mockRestore();
    expect(statements).toContain('SCRAM-SHA-256$4096:');
    for (const role of CONNECTING) expect(statements).not.toContain(new URL(urls[role]).password);
  });
});
