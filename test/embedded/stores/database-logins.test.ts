import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { ensureDatabaseLogins } from '#embedded/stores/database-logins.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { ROLES } from '#shared/config/settings.ts';

it('each process logs in as its own role, and stepping back or up gains it nothing', async () => {
  const home = mkdtempSync(join(tmpdir(), 'docket-logins-'));
  const server = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), durable: false });
  onTestFinished(async () => {
    await server.stop();
    rmSync(home, { recursive: true, force: true });
  });
  await migrateToLatest(server.url);
  const urls = await ensureDatabaseLogins(server.url, home);
  expect(await ensureDatabaseLogins(server.url, home)).toEqual(urls);
  expect(new URL(urls.inference).password).toBe('');
  const passwords = new Set(ROLES.map((role) => new URL(urls[role]).password));
  expect(passwords.size).toBe(ROLES.length);
  expect(passwords).not.toContain(new URL(server.url).password);
  for (const role of ROLES.filter((one) => one !== 'inference')) {
    expect(statSync(join(home, `database-${role}.password`)).mode & 0o777).toBe(0o600);
    // As a process connects, its role named at the start besides.
    const pool = createPool({
      url: urls[role],
      role: `docket_${role}`,
      max: 1,
      applicationName: 't',
    });
    await pool.query('select from schema_migration');
    await pool.end();
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
    const others = ['docket', ...ROLES.filter((one) => one !== role && one !== 'inference')];
    for (const other of others) {
      const name = other === 'docket' ? other : `docket_${other}`;
      await expect(client.query(`set role ${name}`)).rejects.toThrow(/permission denied/);
    }
    await client.end();
  }
});
