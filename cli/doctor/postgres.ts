import { PATIENCE } from '#patience';
import { ForeignSchema, pendingMigrations } from '#migrations/migrate.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { queryRow, queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { compareClocks } from './clock.ts';
import { type Finding, ok, problem, skipped, warning } from './finding.ts';

/** The migrations use builtin collations and MERGE … RETURNING, which came with it. */
const VERSION_MIN = 17;
const STATEMENT_TIMEOUT_MS = 5_000 * PATIENCE;
/** Room for every process of one machine with its pool, and for an operator. */
const CONNECTIONS_MIN = 100;

/** Organisations that are named; an operator with more to mend begins with these. */
const NAMED_MAX = 20;

/**
 * Looks at PostgreSQL: reachable, version, connections, login, clock, schema, and what waits for a person in the ledger.
 * `ours`: of the embedded mode.
 */
export async function examinePostgres(url: string, ours: boolean): Promise<Finding[]> {
  const pool = createPool({
    url,
    max: 1,
    applicationName: 'docket doctor',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    const asked = Date.now();
    const facts = (await queryRow(pool, FACTS))!;
    const answered = Date.now();
    return [
      version(facts),
      connections(facts),
      ...(ours ? [] : [login(facts)]),
      compareClocks('PostgreSQL', Number(facts.now_ms), asked, answered),
      await schema(pool),
      ...(await ledger(pool)),
    ];
  } catch (error) {
    const fix = 'start it, or correct DATABASE_URL';
    return [
      problem('PostgreSQL', `cannot be reached: ${reasonOf(error)}`, fix),
      skipped('schema', 'PostgreSQL cannot be reached'),
    ];
  } finally {
    await pool.end();
  }
}

const FACTS = statement(
  { version: 'text', max_connections: 'text', now_ms: 'numeric', login: 'text', owns: 'bool' },
  `select current_setting('server_version') as version,
          current_setting('max_connections') as max_connections,
          extract(epoch from clock_timestamp()) * 1000 as now_ms,
          session_user::text as login,
          (select rolsuper from pg_roles where rolname = session_user)
            or pg_has_role(session_user,
                 (select relowner from pg_class where oid = to_regclass('schema_migration')),
                 'member') as owns`,
);
type Facts = Row<typeof FACTS>;

function version({ version: text }: Facts): Finding {
  if (Number.parseInt(text, 10) >= VERSION_MIN) return ok('PostgreSQL', `version ${text}`);
  return problem('PostgreSQL', `version ${text}`, `use PostgreSQL ${VERSION_MIN} or newer`);
}

function connections({ max_connections: text }: Facts): Finding {
  const name = 'PostgreSQL connections';
  if (Number(text) >= CONNECTIONS_MIN) return ok(name, `max_connections is ${text}`);
  const fix = `raise max_connections to ${CONNECTIONS_MIN}, or lower DATABASE_POOL_MAX`;
  return warning(name, `max_connections is ${text}`, fix);
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
