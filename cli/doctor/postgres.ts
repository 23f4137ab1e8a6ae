import { setTimeout as delay } from 'node:timers/promises';
import { PATIENCE } from '#patience';
import { ForeignSchema, pendingMigrations } from '#migrations/migrate.ts';
import { databaseProblem, SERVER_VERSION_MIN } from '#shared/kernel/postgres/fitness.ts';
import { createPool, type PoolOptions } from '#shared/kernel/postgres/pool.ts';
import { BEHIND_MAX_MS, compareServers, whyNoReplica } from '#shared/kernel/postgres/replica.ts';
import { placeOf, ReplicaLag } from '#shared/kernel/replica-lag.ts';
import { queryRow, queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { compareClocks } from './clock.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';
import { type Way, wayTo } from './way.ts';

const STATEMENT_TIMEOUT_MS = 5_000 * PATIENCE;
/** Room for every process of one machine with its pool, and for an operator. */
const CONNECTIONS_MIN = 100;

/** A replica that is just behind has caught up by the next look. */
const LOOK_MS = 50;

/** Organisations that are named; an operator with more to mend begins with these. */
const NAMED_MAX = 20;

export interface Databases {
  url: string;
  /** Of the embedded mode. */
  ours: boolean;
  pooler?: PoolOptions['pooler'];
  directUrl?: string | undefined;
  readUrl?: string | undefined;
}

/**
 * Looks at PostgreSQL: reachable, by which connections, version, login, clock, schema, and what waits for a person in the
 * ledger.
 */
export async function examinePostgres(databases: Databases): Promise<Finding[]> {
  const { url, ours, pooler } = databases;
  const pool = openPool(url, pooler);
  try {
    // Before anything is said at the start of a connection that a pooler would refuse.
    const way = await wayTo(url);
    if (way === 'pooled by transaction' && pooler === undefined) {
      return [unsaidPooler(), skipped('schema', 'the pooler comes first')];
    }
    const asked = Date.now();
    const facts = (await queryRow(pool, FACTS))!;
    const answered = Date.now();
    return [
      version(facts),
      connections(facts),
      ...(ours ? [] : [login(facts), archive(facts), ...connectionOf(way, pooler, facts)]),
      ...(pooler === undefined ? [] : [await direct(databases.directUrl)]),
      ...(databases.readUrl === undefined ? [] : [await replica(pool, databases.readUrl, pooler)]),
      compareClocks('PostgreSQL', Number(facts.now_ms), asked, answered),
      await schema(pool),
      ...(await ledger(pool)),
    ];
  } catch (error) {
    const mended = databaseProblem(error)?.message;
    const fix = 'start it, or correct DATABASE_URL';
    return [
      problem('PostgreSQL', mended ?? `cannot be reached: ${reasonOf(error)}`, fix),
      skipped('schema', 'PostgreSQL cannot be reached'),
    ];
  } finally {
    await pool.end();
  }
}

/** One connection, for what the doctor looks at. */
export function openPool(url: string, pooler: PoolOptions['pooler']) {
  const applicationName = 'docket doctor';
  return createPool({
    url,
    pooler,
    max: 1,
    applicationName,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
}

/** What DATABASE_URL leads to, DATABASE_DIRECT_URL beside it, and DATABASE_READ_URL. */
const CONNECTION = 'PostgreSQL connection';
const DIRECT = 'PostgreSQL direct';
const REPLICA = 'PostgreSQL replica';

function unsaidPooler(): Finding {
  const fix =
    'set DATABASE_POOLER=transaction, and DATABASE_DIRECT_URL to PostgreSQL itself for notices and migrations';
  return problem(CONNECTION, 'DATABASE_URL leads to a pooler by transaction', fix);
}

function connectionOf(way: Way, pooler: PoolOptions['pooler'], facts: Facts): Finding[] {
  const detail = `DATABASE_URL is ${way}`;
  if (pooler === undefined) {
    if (way === 'direct') return [ok(CONNECTION, detail)];
    const fix = 'set DATABASE_POOLER=transaction, unless the pooler passes options on';
    return [warning(CONNECTION, detail, fix)];
  }
  if (way === 'direct') {
    const fix = 'unset DATABASE_POOLER: statements are then prepared once for each connection';
    return [warning(CONNECTION, detail, fix)];
  }
  if (facts.statement_timeout !== '0') return [ok(CONNECTION, detail)];
  const fix = `as a superuser: alter role ${facts.login} set statement_timeout = '30s'`;
  return [
    ok(CONNECTION, detail),
    warning('statement time-out', 'holds in transactions alone', fix),
  ];
}

async function direct(url: string | undefined): Promise<Finding> {
  if (url === undefined) {
    const fix = 'set DATABASE_DIRECT_URL to PostgreSQL itself';
    return warning(DIRECT, 'not set: a revoked key is served for up to 5 s more', fix);
  }
  try {
    const way = await wayTo(url);
    if (way === 'direct') return ok(DIRECT, 'DATABASE_DIRECT_URL is direct');
    return problem(DIRECT, `DATABASE_DIRECT_URL is ${way}`, 'name PostgreSQL itself, not a pooler');
  } catch (error) {
    return problem(DIRECT, `cannot be reached: ${reasonOf(error)}`, 'correct DATABASE_DIRECT_URL');
  }
}

async function replica(
  primary: ReturnType<typeof createPool>,
  url: string,
  pooler: PoolOptions['pooler'],
): Promise<Finding> {
  const pool = openPool(url, pooler);
  const unused = 'everything is read from the primary: correct DATABASE_READ_URL';
  try {
    const { ours, theirs } = await compareServers(primary, pool);
    const why = whyNoReplica(ours, theirs);
    if (why !== undefined) return problem(REPLICA, why, unused);
    const asked = performance.now();
    const lag = new ReplicaLag();
    lag.noted(asked, placeOf(ours.place)!);
    for (let { place } = theirs; ; { place } = (await compareServers(primary, pool)).theirs) {
      lag.replayed(placeOf(place)!);
      const waitedMs = performance.now() - asked;
      if (lag.behindMs(asked) !== undefined) {
        return ok(REPLICA, `DATABASE_READ_URL is ${Math.ceil(waitedMs)} ms behind at most`);
      }
      if (waitedMs > BEHIND_MAX_MS) {
        const fix = 'look at the replica: until it has caught up, the primary is read';
        return warning(REPLICA, `DATABASE_READ_URL is more than ${BEHIND_MAX_MS} ms behind`, fix);
      }
      await delay(LOOK_MS);
    }
  } catch (error) {
    return problem(REPLICA, `cannot be reached: ${reasonOf(error)}`, unused);
  } finally {
    await pool.end();
  }
}

const FACTS = statement(
  {
    version: 'text',
    max_connections: 'text',
    statement_timeout: 'text',
    now_ms: 'numeric',
    login: 'text',
    owns: 'bool',
    archive_mode: 'text',
    archive_fails: 'bool?',
  },
  `select current_setting('server_version') as version,
          current_setting('max_connections') as max_connections,
          current_setting('statement_timeout') as statement_timeout,
          extract(epoch from clock_timestamp()) * 1000 as now_ms,
          session_user::text as login,
          (select rolsuper from pg_roles where rolname = session_user)
            or pg_has_role(session_user,
                 (select relowner from pg_class where oid = to_regclass('schema_migration')),
                 'member') as owns,
          current_setting('archive_mode') as archive_mode,
          (select last_failed_time > coalesce(last_archived_time, '-infinity') from pg_stat_archiver) as archive_fails`,
);
type Facts = Row<typeof FACTS>;

function version({ version: text }: Facts): Finding {
  if (Number.parseInt(text, 10) >= SERVER_VERSION_MIN) return ok('PostgreSQL', `version ${text}`);
  return problem('PostgreSQL', `version ${text}`, `use PostgreSQL ${SERVER_VERSION_MIN} or newer`);
}

function connections({ max_connections: text }: Facts): Finding {
  const name = 'PostgreSQL connections';
  if (Number(text) >= CONNECTIONS_MIN) return ok(name, `max_connections is ${text}`);
  const fix = `raise max_connections to ${CONNECTIONS_MIN}, or lower DATABASE_POOL_MAX`;
  return warning(name, `max_connections is ${text}`, fix);
}

/** Whether what was written ahead leaves the machine, as docs/operations.md wants it of a backup. */
function archive({ archive_mode: mode, archive_fails: fails }: Facts): Finding {
  const name = 'PostgreSQL archive';
  if (mode === 'off') {
    const fix =
      'archive WAL, as docs/operations.md says under Backup and restore, unless pg_receivewal or your provider keeps it';
    return warning(name, 'archive_mode is off', fix);
  }
  if (fails !== true) return ok(name, `archive_mode is ${mode}`);
  const fix = 'mend archive_command: until it works, WAL fills the disk and no backup has it';
  return problem(name, 'the last attempt to archive WAL failed', fix);
}

function login({ login: name, owns }: Facts): Finding {
  const title = 'PostgreSQL login';
  if (!owns) return ok(title, `${name} does not own the schema`);
  const fix =
    'give each process a login of its own, as docs/operations.md says under What to provide';
  return warning(title, `${name} owns the schema: only migrations need that`, fix);
}

async function schema(pool: ReturnType<typeof createPool>): Promise<Finding> {
  const fix = 'run: node migrations/main.ts';
  try {
    const pending = await pendingMigrations(pool);
    if (pending.length === 0) return ok('schema', 'every migration is applied');
    return problem('schema', `not applied: ${pending.join(', ')}`, fix);
  } catch (error) {
    if (error instanceof ForeignSchema) {
      return problem('schema', `another build made it, with ${error.migration}`, error.remedy);
    }
    // undefined_table: this database was never migrated.
    const empty = (error as { code?: string }).code === '42P01';
    return problem('schema', empty ? 'the database is empty' : reasonOf(error), fix);
  }
}

const HALTED = statement(
  { org_id: 'text' },
  `select org_id from ledger_head where halted_at is not null order by org_id limit ${NAMED_MAX}`,
);

const QUARANTINED = statement(
  { org_id: 'text', receipts: 'int8' },
  `select org_id, count(*) as receipts from ledger_quarantine
    group by org_id order by org_id limit ${NAMED_MAX}`,
);

/** Halted logs and receipts in quarantine: nothing mends them but a person. */
async function ledger(pool: ReturnType<typeof createPool>): Promise<Finding[]> {
  const names = { halted: 'halted logs', quarantine: 'quarantine' } as const;
  try {
    const halted = await queryRows(pool, HALTED);
    const kept = await queryRows(pool, QUARANTINED);
    return [
      halted.length === 0
        ? ok(names.halted, 'none')
        : problem(
            names.halted,
            halted.map((row) => row.org_id).join(', '),
            'run: docket ledger fsck --org <id>; docs/operations.md says what then',
          ),
      kept.length === 0
        ? ok(names.quarantine, 'empty')
        : problem(
            names.quarantine,
            kept.map((row) => `${row.org_id} (${row.receipts})`).join(', '),
            'run: docket ledger fsck --org <id>; when the cause is gone: docket ledger requeue <receipt-id>',
          ),
    ];
  } catch (error) {
    return Object.values(names).map((name) => skipped(name, `cannot be read: ${reasonOf(error)}`));
  }
}
