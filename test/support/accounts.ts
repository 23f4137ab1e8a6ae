import type { Pool } from 'pg';
import { createAccountRegistry, type AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createAuditLog, type AuditLog } from '#shared/accounts/postgres/audit.ts';
import { createVettings, type Vettings } from '#shared/accounts/postgres/vetting.ts';
import { createSanctionsStore, type SanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
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
import type { Decision, Vetting } from '#shared/accounts/vetting.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

export const OPERATOR: Actor = { kind: 'operator', id: 'ada' };
/** The one who approves beside the first. */
export const OTHER_OPERATOR: Actor = { kind: 'operator', id: 'bob' };

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
  sanctions: SanctionsStore;
  keys: KeyRegistry;
  deadlines: KeyDeadlines;
  audit: AuditLog;
  clock: MovableClock;
}

export function createRegistries(pool: Pool, clock: MovableClock = movableClock()): Registries {
  return {
    accounts: createAccountRegistry(pool, clock),
    vettings: createVettings(pool, clock),
    sanctions: createSanctionsStore(pool, clock),
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
  return {
    cause: 'onboarding',
    outcome: 'clear',
    lists: [],
    reasons: [],
    namesRevision: 0,
    durationMs: 1,
    ...over,
  };
}

export function contract(): ServiceContract {
  return { kind: 'pilot', documentSha256: 'ab'.repeat(32), signatory: 'Bill Example', signedAt: 0 };
}

/** What an applicant is and says, and what a screening has found about it. */
interface Referral {
  account?: Partial<NewAccount>;
  declared?: Partial<Declaration>;
  found?: Partial<Vetting>;
}

/** An applicant that a screening has left to a person. */
export async function referApplicant(
  { accounts, vettings }: Pick<Registries, 'accounts' | 'vettings'>,
  { account, declared, found = { outcome: 'flagged' } }: Referral = {},
): Promise<{ orgId: string; reviewId: string }> {
  const { id: orgId } = await accounts.create(newAccount(account), OPERATOR);
  await accounts.declare(orgId, declaration(declared), OPERATOR);
  await vettings.record(orgId, vetting(found));
  return { orgId, reviewId: (await vettings.openReview(orgId))!.id };
}

/** A vetting as the service makes it now: of the current lists, and of the declaration and contract on record. */
export async function currentVetting(
  { vettings, sanctions }: Pick<Registries, 'vettings' | 'sanctions'>,
  orgId: string,
  over: Partial<Vetting> = {},
): Promise<Vetting> {
  const applicant = await vettings.applicant(orgId);
  return vetting({
    lists: await sanctions.currentVersions(),
    declarationId: applicant?.declarationId ?? null,
    contractId: applicant?.contractId ?? null,
    namesRevision: applicant?.namesRevision ?? 0,
    ...over,
  });
}

/** Decides the open review on what it shows now, by two operators where one is not enough. */
export async function decideNow(
  { vettings }: Pick<Registries, 'vettings'>,
  orgId: string,
  decision: Decision,
): Promise<Account> {
  const vettingId = (await vettings.openReview(orgId))?.vettingId ?? null;
  const verdict = { decision, vettingId, note: 'looked at it' };
  const decided = await vettings.decide(orgId, { ...verdict, actor: OPERATOR });
  if ((await vettings.openReview(orgId)) === null) return decided;
  return vettings.decide(orgId, { ...verdict, actor: OTHER_OPERATOR });
}

/** An organisation that has come all the way to active. */
export async function activeAccount(
  { accounts, vettings, sanctions }: Pick<Registries, 'accounts' | 'vettings' | 'sanctions'>,
  plan: Plan = 'audit_plus',
): Promise<Account> {
  const { id } = await accounts.create(newAccount({ plan }), OPERATOR);
  await accounts.declare(id, declaration(), OPERATOR);
  await vettings.record(id, vetting());
  await accounts.sign(id, contract(), OPERATOR);
  await vettings.record(id, await currentVetting({ vettings, sanctions }, id));
  return accounts.activate(id, OPERATOR);
}
