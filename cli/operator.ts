import { userInfo } from 'node:os';
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
  SERVICE_CHAIN,
} from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
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

/** Reads `--actor`; every act of an operator is in the audit log under a name. */
export function actorFrom(text: string): Actor {
  const actor = parseActor(text);
  if (actor === null) {
    throw new Fault('invalid_actor', {
      message: 'Name who acts: --actor operator:<name> or support:<ticket>.',
    });
  }
  return actor;
}

/** Options of a command that acts on the service itself: in whose name, and why. */
export interface ActOptions {
  actor?: string;
  reason?: string;
  json?: boolean;
}

export function withActOptions(command: Command): Command {
  return command
    .option('--actor <who>', 'operator:<name> or support:<ticket>; you, when absent')
    .option('--reason <text>', 'why, for the audit log')
    .option('--json', 'for programs');
}

/** Reads `--actor`; when it is absent, the person at this machine acts. */
export function actorOf({ actor }: { actor?: string }): Actor {
  return actorFrom(actor ?? `operator:${userInfo().username}`);
}

/**
 * Writes an act on the service itself to the audit log, after it is done: what is urgent must not wait for a database
 * that may be part of the incident.
 * @throws Error with `done`, which says what was done, when it cannot be written
 */
export async function recordServiceAct(
  act: Pick<AuditEvent, 'action' | 'subject' | 'details'>,
  { actor, reason }: { actor: Actor; reason?: string },
  done: string,
): Promise<void> {
  const event = {
    ...act,
    orgId: SERVICE_CHAIN,
    actor,
    ...(reason === undefined ? {} : { reason }),
  };
  try {
    await asOperator(({ audit }) => audit.append(event));
  } catch (error) {
    throw new Error(`${done}, but the audit log could not be written.`, { cause: error });
  }
}
