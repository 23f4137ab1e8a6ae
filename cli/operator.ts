import { hostname, userInfo } from 'node:os';
import type { Command } from 'commander';
import type { Pool } from 'pg';
import { createAccountRegistry, type AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createAuditLog, type AuditLog } from '#shared/accounts/postgres/audit.ts';
import { createVettings, type Vettings } from '#shared/accounts/postgres/vetting.ts';
import { createKeyRegistry, type KeyRegistry } from '#shared/keys/postgres/keys.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { createSanctionsStore, type SanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import {
  type Actor,
  type AuditEvent,
  parseActor,
  REASON_LENGTH_MAX,
  SERVICE_CHAIN,
} from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { readDevFile } from '#embedded/launcher/dev-file.ts';

/** The stores and registries that an operator's command works with. */
export interface OperatorDeps {
  pool: Pool;
  surroundings: Surroundings;
  accounts: AccountRegistry;
  vettings: Vettings;
  keys: KeyRegistry;
  audit: AuditLog;
  sanctions: SanctionsStore;
}

/** A command works on one connection at a time; the second is for reading while it writes. */
const CONNECTIONS = 2;
/** Longer than any statement of a command, shorter than a person's patience. */
const STATEMENT_TIMEOUT_MS = 60_000;

/** Runs `work` with the rights of an operator and closes the connections after it, also when it fails. */
export async function asOperator<T>(work: (deps: OperatorDeps) => Promise<T>): Promise<T> {
  const pool = createPool({
    url: await databaseUrl(),
    pooler: loadToolConfig().databasePooler,
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
      vettings: createVettings(pool, surroundings),
      keys: createKeyRegistry(pool, surroundings),
      audit: createAuditLog(pool, surroundings),
      sanctions: createSanctionsStore(pool, surroundings),
    });
  } finally {
    await pool.end();
  }
}

/** Vets at once, within the command: an operator waits for the outcome. */
export function vetterOf({ vettings, sanctions }: OperatorDeps): Vetter {
  return new Vetter({ vettings, lists: sanctions, monotonicNow: () => performance.now() });
}

/** DATABASE_URL, or the database of the embedded mode that runs on this machine. */
export async function databaseUrl(): Promise<string> {
  const { dataDir, secrets } = loadToolConfig();
  const url = secrets.databaseUrl ?? (await readDevFile(dataDir))?.database_url;
  if (url !== undefined) return url;
  throw new Error('DATABASE_URL is not set, and no embedded instance is running here.');
}

/** Options of an act: in whose name, and why. */
export interface ActOptions {
  actor?: string;
  reason?: string;
  json?: boolean;
}

export const REASON = ['--reason <text>', 'why, for the audit log'] as const;

/** The user that a command runs as. Containers run as a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Who acts, from where and why, for the audit log: `--actor` and `--reason`, and the user and host that the command runs
 * as, which are all that is known of who has typed the name of another.
 */
export function actorFrom({ actor: text, reason }: ActOptions): Actor {
  const place = `os:${userName()}@${hostname()}`;
  const actor = parseActor(text ?? `operator:${place}`);
  if (actor === null) {
    throw new Fault('invalid_actor', {
      message: 'Name who acts: --actor operator:<name> or support:<ticket>.',
    });
  }
  // It stands in the audit log, and may stand on a page.
  if (reason !== undefined && !isPrintable(reason, REASON_LENGTH_MAX)) {
    const message = `--reason must be one line of 1 to ${REASON_LENGTH_MAX} printable characters.`;
    throw invalidParam('reason', message);
  }
  return { ...actor, address: place, ...(reason === undefined ? {} : { reason }) };
}

/** @param asksReason for what lets a person in: that it was done without a word would be all that the audit log has */
export function withActOptions(command: Command, { asksReason = false } = {}): Command {
  command.option('--actor <who>', 'operator:<name> or support:<ticket>; you, when absent');
  if (asksReason) command.requiredOption(...REASON);
  else command.option(...REASON);
  return command.option('--json', 'for programs');
}

/**
 * Writes an act on the service itself to the audit log, after it is done: what is urgent must not wait for a database
 * that may be part of the incident.
 * @throws Error with `done`, which says what was done, when it cannot be written
 */
export async function recordServiceAct(
  act: Pick<AuditEvent, 'action' | 'subject' | 'details'>,
  actor: Actor,
  done: string,
): Promise<void> {
  const event = { ...act, orgId: SERVICE_CHAIN, actor };
  try {
    await asOperator(({ audit }) => audit.append(event));
  } catch (error) {
    throw new Error(`${done}, but the audit log could not be written.`, { cause: error });
  }
}
