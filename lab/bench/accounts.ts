import { performance } from 'node:perf_hooks';
import { randomBytes } from 'node:crypto';
import { Pool } from 'pg';
import { CredentialCache } from '#api/auth/credential-cache.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { createCredentialSource } from '#shared/keys/postgres/credentials.ts';
import { generateKey, hashKey } from '#shared/keys/format.ts';
import { createRegistries } from '#test/support/accounts.ts';
import { readNumbers, refuseArguments } from './support/arguments.ts';

/**
 * Lists and look-ups with many accounts and keys, each to stay under 10 ms:
 * npm run bench accounts <url of an empty database> [accounts] [keys]
 * One organisation has a tenth of all keys, so that long lists are seen too.
 */
const USAGE = 'accounts <url of an empty database> [accounts] [keys]';
const [url = '', ...counts] = process.argv.slice(2);
const { accounts: accountCount, keys: keyCount } = readNumbers(
  USAGE,
  { accounts: 10_000, keys: 100_000 },
  url === '--help' ? [url] : counts,
);
if (!/^postgres(ql)?:\/\//.test(url))
  refuseArguments(USAGE, 'The address of a database is missing.');
const ROUNDS = 500;

await migrateToLatest(url);
const pool = new Pool({ connectionString: url, max: 4 });
const plaintexts = Array.from({ length: 1_000 }, () => generateKey(randomBytes));
await fill(accountCount, keyCount);
const { accounts, vettings, keys } = createRegistries(pool);
const source = createCredentialSource(pool);
const large = orgId(0);

const firstPage = await keys.list({ orgId: large, limit: 100, order: 'desc' });
const middle = (
  await pool.query<{ id: string }>(
    'select id from api_key where org_id = $1 order by id offset $2 limit 1',
    [large, Math.floor(keyCount / 20)],
  )
).rows[0]!.id;
await measure('keys, first page of 100', () =>
  keys.list({ orgId: large, limit: 100, order: 'desc' }),
);
await measure('keys, page in the middle', () =>
  keys.list({ orgId: large, limit: 100, order: 'desc', after: middle }),
);
await measure('one key by its id', () => keys.get(large, firstPage.items[0]!.id));
await measure('accounts, first page of 100', () => accounts.list({ limit: 100, order: 'desc' }));
await measure('accounts, suspended ones', () =>
  accounts.list({ limit: 100, order: 'desc', state: 'suspended' }),
);
await measure('credential by hash (PostgreSQL)', (round) =>
  source.findByHashes([hashKey(plaintexts[round % plaintexts.length]!)]),
);
await measure('256 credentials by hash (PostgreSQL)', () =>
  source.findByHashes(plaintexts.slice(0, 256).map(hashKey)),
);
await measure('accounts due for vetting', () => vettings.due(100));

const cache = new CredentialCache({
  source,
  observer: { changeArrived() {}, lookedUp() {}, feedLost() {}, feedRestored() {} },
});
for (const token of plaintexts) await cache.lookup(token);
const HITS = 300_000;
const start = performance.now();
for (let i = 0; i < HITS; i += 1) void cache.lookup(plaintexts[i % plaintexts.length]!);
const perHit = ((performance.now() - start) * 1e6) / HITS;
process.stdout.write(`${'credential in memory'.padEnd(40)} ${perHit.toFixed(0)} ns\n`);
await pool.end();

/** Prints the median and the 99th percentile of many rounds. */
async function measure(name: string, work: (round: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    await work(round);
    times.push(performance.now() - begun);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): string => times[Math.floor(share * ROUNDS)]!.toFixed(2);
  process.stdout.write(`${name.padEnd(40)} p50 ${at(0.5)} ms  p99 ${at(0.99)} ms\n`);
}

/** Rows as they would be; the triggers are off while they are written, for they check one at a time. */
async function fill(accountsMax: number, keysMax: number): Promise<void> {
  await pool.query('alter table account disable trigger user');
  await pool.query('alter table api_key disable trigger user');
  await pool.query(
    `insert into account (id, name, state, plan, billing_name, billing_email, technical_name,
       technical_email, created_at, state_changed_at)
     select 'org_' || lpad(i::text, 26, '0'), 'Organisation ' || i,
       case when i % 100 = 7 then 'suspended' else 'active' end, 'audit_plus', 'B', 'b@x.example',
       'T', 't@x.example', now(), now()
     from generate_series(0, $1::integer - 1) as i`,
    [accountsMax],
  );
  await pool.query(
    `insert into api_key (id, org_id, name, hash, head, tail, scopes, lineage_id, created_at)
     select 'key_' || lpad(i::text, 26, '0'),
       'org_' || lpad((case when i % 10 = 0 then 0 else i % $1::integer end)::text, 26, '0'),
       'key ' || i,
       coalesce(($3::bytea[])[i + 1], sha256(i::text::bytea)), 'dkt_aaaa', 'aaaa',
       '{inference:read,inference:write,service:read}', 'key_' || lpad(i::text, 26, '0'), now()
     from generate_series(0, $2::integer - 1) as i`,
    [accountsMax, keysMax, plaintexts.map((key) => Buffer.from(hashKey(key), 'hex'))],
  );
  await pool.query('alter table account enable trigger user');
  await pool.query('alter table api_key enable trigger user');
  await pool.query('analyze account, api_key');
}

function orgId(number: number): string {
  return `org_${String(number).padStart(26, '0')}`;
}
