import type { Pool } from 'pg';
import { createAccountRegistry, type AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createAuditLog, type AuditLog } from '#shared/accounts/postgres/audit.ts';
import { createVettings, type Vettings } from '#shared/accounts/postgres/vetting.ts';
import { createKeyDeadlines, type KeyDeadlines } from '#shared/keys/postgres/deadlines.ts';
import { createKeyRegistry, type KeyRegistry } from '#shared/keys/postgres/keys.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type {
  Account,
  Declaration,
  NewAccount,
  ServiceContract,
} from '#shared/accounts/account.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import type { Vetting } from '#shared/accounts/vetting.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

export const OPERATOR: Actor = { kind: 'operator', id: 'ada' };
export const DAY_MS = 24 * 60 * 60 * 1_000;

/** A clock that a test can move. It begins at the present, because the database has its own. */
export interface MovableClock extends Surroundings {
  advance(ms: number): void;
}

export function movableClock(): MovableClock {
  let offset = 0;
  return {
    ...systemSurroundings,
    now: () => Date.now() + offset,
    advance: (ms) => {
      offset += ms;
    },
  };
}

export interface Registries {
  accounts: AccountRegistry;
  vettings: Vettings;
  keys: KeyRegistry;
  deadlines: KeyDeadlines;
  audit: AuditLog;
  clock: MovableClock;
}

export function createRegistries(pool: Pool, clock: MovableClock = movableClock()): Registries {
  return {
    accounts: createAccountRegistry(pool, clock),
    vettings: createVettings(pool, clock),
    keys: createKeyRegistry(pool, clock),
    deadlines: createKeyDeadlines(pool, clock),
    audit: createAuditLog(pool, clock),
    clock,
  };
}

export function newAccount(over: Partial<NewAccount> = {}): NewAccount {
  return {
    name: 'Harmless Bakery',
    plan: 'audit_plus',
    billing: { name: 'Bill Example', email: 'billing@bakery.example' },
    technical: { name: 'Tess Example', email: 'technical@bakery.example' },
    ...over,
  };
}

export function declaration(over: Partial<Declaration> = {}): Declaration {
  return {
    version: DECLARATION_VERSION,
    statements: Object.fromEntries(
      STATEMENTS[DECLARATION_VERSION]!.map(({ id, expected }) => [id, expected]),
    ),
    country: 'FR',
    industry: 'retail',
    tradingNames: [],
    parties: [{ role: 'director', name: 'Dora Example', country: 'FR' }],
    declaredBy: 'Tess Example',
    ...over,
  };
}

export function vetting(over: Partial<Vetting> = {}): Vetting {
  return { cause: 'onboarding', outcome: 'clear', lists: [], reasons: [], durationMs: 1, ...over };
}

export function contract(): ServiceContract {
  return { kind: 'pilot', documentSha256: 'ab'.repeat(32), signatory: 'Bill Example', signedAt: 0 };
}

/** An organisation that has come all the way to active. */
export async function activeAccount(
  { accounts, vettings }: Pick<Registries, 'accounts' | 'vettings'>,
  plan: Plan = 'audit_plus',
): Promise<Account> {
  const { id } = await accounts.create(newAccount({ plan }), OPERATOR);
  await accounts.declare(id, declaration(), OPERATOR);
  await vettings.record(id, vetting());
  await accounts.sign(id, contract(), OPERATOR);
  return accounts.activate(id, OPERATOR);
}
