import { expect, it } from 'vitest';
import type { Pool } from 'pg';
import { createAuditLog, type AuditPageRequest } from '#shared/accounts/postgres/audit.ts';
import { movableClock } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';

const ENTRIES = 3_000;
const database = await createTestDatabase();

it.each([
  ['of one thing', { subject: 'key_7' }, 1],
  ['of a thing that was never acted upon', { subject: 'key_none' }, 0],
  [
    'of days on which nothing was done',
    { from: Date.UTC(2020, 0, 1), to: Date.UTC(2020, 1, 1) },
    0,
  ],
] as const)(
  'entries %s are found without a look at the others of the log [evidence.audit-log]',
  async (_name, filter, count) => {
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      // Without the chain, which takes them one by one.
      await client.query(`set local session_replication_role = replica`);
      await client.query(
        `insert into audit_log (org_id, sequence, id, at, action, actor_kind, actor_id, subject, details, previous_hash, hash)
         select 'org_long', i, 'aud_' || i, now() - make_interval(secs => $1 - i), 'key.issued', 'key', 'key_0', 'key_' || i, '{}',
           decode(repeat('00', 32), 'hex'), decode(repeat('00', 32), 'hex') from generate_series(0, $1 - 1) i`,
        [ENTRIES],
      );
      await client.query('analyze audit_log');
      const asked: AuditPageRequest = { orgId: 'org_long', limit: 25, order: 'desc', ...filter };
      const sent: [string, unknown[]][] = [];
      const listening = {
        query: (...given: [string, unknown[]]) => {
          sent.push(given);
          return client.query(...given);
        },
      } as unknown as Pool;
      expect((await createAuditLog(listening, movableClock()).list(asked)).items).toHaveLength(
        count,
      );
      const [text, values] = sent.at(-1)!;
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values);
      expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toMatch(
        /audit_log_by_(subject|time)/,
      );
    } finally {
      await client.query('rollback');
      client.release();
    }
  },
);
