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
  MACHINE_USER,
  REASON_LENGTH_MAX,
  SERVICE_CHAIN,
  TICKET_LENGTH_MAX,
} from '#shared/accounts/audit/entry.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { isStoreAway } from '#shared/kernel/store-away.ts';
import {
  type CommandLines,
  createCommandLines,
  type SignedInOperator,
} from '#shared/persons/postgres/command-lines.ts';
import type { StaffRole } from '#shared/persons/roles.ts';
import { Vetter } from '#shared/accounts/vetter.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { readLogin } from './login-file.ts';
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
  commandLines: CommandLines;
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
      commandLines: createCommandLines(pool, surroundings),
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

/** Options of an act: why, and what it answers. In whose name is said by `docket login`. */
export interface ActOptions {
  reason?: string;
  ticket?: string;
  json?: boolean;
}

export const REASON = ['--reason <text>', 'why, for the audit log'] as const;
export const TICKET = ['--ticket <id>', 'the request to support that it answers'] as const;

/** The user and the machine that a command runs as: all that is known of who acts where no person has signed in. */
export const thisPlace = (): string => `${MACHINE_USER}${userName()}@${hostname()}`;

/** Containers run as a number that has no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/**
 * Who acts, from where and why, for the audit log: the person that `docket login` has signed in, else the user of this machine,
 * which no option overrides. While PostgreSQL is away it is the user too: what is urgent does not wait.
 * @param roles of which the person has to have one
 * @throws Error when the sign-in is over, or the person has none of the roles
 */
export async function actorFrom(
  options: ActOptions,
  roles: readonly StaffRole[] = ['operator'],
): Promise<Actor> {
  const place = thisPlace();
  const rest = { address: place, ...wordsOf(options) };
  const signedIn = await signedInHere();
  if (signedIn === null) return { kind: 'operator', id: place, ...rest };
  const { person, staff } = signedIn;
  if (!staff.some((role) => roles.includes(role))) {
    throw new Error(
      `${person.email} is no ${roles.join(' or ')}. Sign in as someone else: docket login.`,
    );
  }
  const { id, name } = person;
  return { kind: 'operator', id, name, ...rest, allowedBy: { staff: roles } };
}

/** What an operator says of an act: it stands in the audit log, and may stand on a page. */
export function wordsOf({ reason, ticket }: ActOptions): Pick<Actor, 'reason' | 'ticket'> {
  demandLine('reason', reason, REASON_LENGTH_MAX);
  demandLine('ticket', ticket, TICKET_LENGTH_MAX);
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(ticket === undefined ? {} : { ticket }),
  };
}

function demandLine(name: string, text: string | undefined, max: number): void {
  if (text === undefined || isPrintable(text, max)) return;
  throw invalidParam(name, `--${name} must be one line of 1 to ${max} printable characters.`);
}

/** The person in whose name this user acts on this database; null for none. */
async function signedInHere(): Promise<SignedInOperator | null> {
  // Where no database is known, the command says so when it needs one.
  const url = await databaseUrl().catch(() => undefined);
  const token = url === undefined ? undefined : readLogin(url)?.token;
  if (token === undefined) return null;
  try {
    const found = await asOperator(({ commandLines }) => commandLines.by(token));
    if (found !== null && found !== 'waiting') return found;
  } catch (error) {
    if (!isStoreAway(error)) throw error;
    process.stderr.write(`PostgreSQL is away: this is done in the name of ${thisPlace()}.\n`);
    return null;
  }
  throw new Error(
    `Your sign-in at the command line is over. Sign in again (docket login), or act as ${thisPlace()} (docket logout).`,
  );
}

/** @param asksReason for what lets a person in: that it was done without a word would be all that the audit log has */
export function withActOptions(command: Command, { asksReason = false } = {}): Command {
  if (asksReason) command.requiredOption(...REASON);
  else command.option(...REASON);
  return command.option(...TICKET).option('--json', 'for programs');
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
