import type { Pool } from 'pg';
import { createAccountRegistry } from '../shared/adapters/postgres/accounts.ts';
import { createAuditLog } from '../shared/adapters/postgres/audit.ts';
import { createKeyRegistry } from '../shared/adapters/postgres/keys.ts';
import { createPool } from '../shared/adapters/postgres/pool.ts';
import { createSanctionsStore } from '../shared/adapters/postgres/sanctions.ts';
import { transliterate } from '../shared/adapters/sanctions/transliterate.ts';
import { systemSurroundings } from '../shared/adapters/system/surroundings.ts';
import { loadToolConfig } from '../shared/config/config.ts';
import { parseActor, type Actor } from '../shared/domain/audit/entry.ts';
import { Fault } from '../shared/domain/errors.ts';
import { Screener } from '../shared/jobs/screener.ts';
import type { AccountRegistry } from '../shared/ports/accounts.ts';
import type { AuditLog } from '../shared/ports/audit.ts';
import type { KeyRegistry } from '../shared/ports/keys.ts';
import type { SanctionsStore } from '../shared/ports/sanctions.ts';
import type { Surroundings } from '../shared/ports/surroundings.ts';
import { fromEmbeddedInstance } from './embedded-instance.ts';

/** What an operator's command works with. */
export interface OperatorDeps {
  pool: Pool;
  surroundings: Surroundings;
  accounts: AccountRegistry;
  keys: KeyRegistry;
  audit: AuditLog;
  sanctions: SanctionsStore;
}

/** A command works on one connection at a time; the second is for reading while it writes. */
const CONNECTIONS = 2;
/** Longer than any statement of a command, shorter than a person's patience. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** Runs `work` with the rights of an operator and closes the connections after it, whatever happens. */
export async function asOperator<T>(work: (deps: OperatorDeps) => Promise<T>): Promise<T> {
  const pool = createPool({
    url: await databaseUrl(),
    role: 'docket_operator',
    max: CONNECTIONS,
    applicationName: 'docket cli',
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  const surroundings = systemSurroundings;
  try {
    return await work({
      pool,
      surroundings,
      accounts: createAccountRegistry(pool, surroundings),
      keys: createKeyRegistry(pool, surroundings),
      audit: createAuditLog(pool, surroundings),
      sanctions: createSanctionsStore(pool, surroundings),
    });
  } finally {
    await pool.end();
  }
}

/** Screens at once, within the command: an operator waits for the outcome. */
export function screenerOf({ accounts, sanctions }: OperatorDeps): Screener {
  return new Screener({ accounts, lists: sanctions, transliterate });
}

/** DATABASE_URL, or the database of the embedded mode that runs on this machine. */
export async function databaseUrl(): Promise<string> {
  const url = loadToolConfig().secrets.databaseUrl ?? (await fromEmbeddedInstance('database_url'));
  if (url !== undefined) return url;
  throw new Error('DATABASE_URL is not set, and no embedded instance is running here.');
}

/** Reads `--actor`; everything an operator does is somebody's act. */
export function actorFrom(text: string): Actor {
  const actor = parseActor(text);
  if (actor === null) {
    throw new Fault('invalid_actor', 'Name who acts: --actor operator:<name> or support:<ticket>.');
  }
  return actor;
}
