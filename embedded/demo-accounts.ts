import { hash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { createAccountRegistry, type AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createVettings, type Vettings } from '#shared/accounts/postgres/vetting.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { createKeyRegistry, type KeyRegistry } from '#shared/keys/postgres/keys.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Account } from '#shared/accounts/account.ts';
import { LIMITS_MAX } from '#shared/accounts/checks.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { SCOPES, type Scope } from '#shared/keys/credential.ts';
import { hashKey } from '#shared/keys/format.ts';
import { scopesOnPlan } from '#shared/keys/rules.ts';
import { PLANS, type Plan } from '#shared/kernel/plan.ts';
import { Vetter } from '#shared/accounts/vetter.ts';

/** Accounts that the launcher shows: one organisation and one key per plan. */
export interface DemoAccounts {
  organisations: Record<Plan, string>;
  /** Empty for one that has none and is given none, because its organisation is not active. */
  keys: Record<Plan, string>;
  /** Those that are not active: an operator has suspended them, or screening waits for a person. */
  inactive: readonly Pick<Account, 'id' | 'name' | 'state'>[];
}

/** Requests a day where they may cost money: enough to try things, too few to be charged much by a key that lay about. */
export const PAID_REQUESTS_PER_DAY = 200;

const FILE = 'demo-keys.json';
/** Screening goes through the applicants every few seconds: more refusals than that have another cause. */
const REFUSED_MAX = 20;
const OPERATOR: Actor = { kind: 'operator', id: 'embedded-mode' };
const CONTACT = { name: 'Demo Contact', email: 'demo@docket.example' };
const NAMES: Readonly<Record<Plan, string>> = {
  audit: 'Demo Audit',
  audit_plus: 'Demo Audit Plus',
  enterprise: 'Demo Enterprise',
};

/**
 * Makes sure that one active organisation and one working key exist for each plan. The keys'
 * plaintext lives in `<dataDir>/demo-keys.json` (mode 0600) and nowhere else; a key that is no longer
 * there, or no longer active, is issued anew. Everything goes the way of a real customer, so the audit
 * log of a demo organisation is a true one. One that was suspended stays so, with the keys that it has.
 * @param options.requestsPerDay of the enterprise organisation; limits that were set otherwise stay as they are
 */
export async function ensureDemoAccounts(
  pool: Pool,
  dataDir: string,
  { requestsPerDay = LIMITS_MAX.requestsPerDay }: { requestsPerDay?: number } = {},
): Promise<DemoAccounts> {
  const accounts = createAccountRegistry(pool, systemSurroundings);
  const keys = createKeyRegistry(pool, systemSurroundings);
  const lists = createSanctionsStore(pool, systemSurroundings);
  const vettings = createVettings(pool, systemSurroundings);
  const vetter = new Vetter({ vettings, lists, monotonicNow: () => performance.now() });
  const stored = await readStored(dataDir);
  const organisations: Partial<Record<Plan, string>> = {};
  const plaintexts: Partial<Record<Plan, string>> = {};
  const inactive: Account[] = [];
  for (const plan of PLANS) {
    const ensured = await ensureAccount(pool, { accounts, vettings, vetter }, plan);
    const account =
      plan === 'enterprise' ? await ensureLimits(accounts, ensured, requestsPerDay) : ensured;
    organisations[plan] = account.id;
    plaintexts[plan] = await ensureKey(keys, account, stored[plan]);
    if (account.state !== 'active') inactive.push(account);
  }
  const demo = { organisations, keys: plaintexts, inactive } as DemoAccounts;
  await writeStored(dataDir, demo.keys);
  return demo;
}

interface Onboarding {
  accounts: AccountRegistry;
  vettings: Vettings;
  vetter: Vetter;
}

async function ensureAccount(pool: Pool, onboarding: Onboarding, plan: Plan): Promise<Account> {
  const { accounts } = onboarding;
  const known = await queriesOn(pool)
    .selectFrom('account')
    .select('id')
    .where('name', '=', NAMES[plan])
    .where('technical_email', '=', CONTACT.email)
    .where('state', 'not in', ['closed', 'rejected'])
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  let account =
    known === undefined
      ? await accounts.create(
          { name: NAMES[plan], plan, billing: CONTACT, technical: CONTACT },
          OPERATOR,
        )
      : await accounts.get(known.id);
  // Each step begins where an interrupted start has left off.
  for (let refused = 0; ;) {
    try {
      const next = await step(onboarding, account);
      if (next === null) return account;
      account = next;
    } catch (error) {
      // Housekeeping runs already, and screens applicants: what was read for this step may be of before.
      refused += 1;
      if (!(error instanceof Fault) || refused === REFUSED_MAX) throw error;
      account = await accounts.get(account.id);
    }
  }
}

async function ensureLimits(
  accounts: AccountRegistry,
  account: Account,
  requestsPerDay: number,
): Promise<Account> {
  const limits = account.negotiatedLimits;
  const ours = [LIMITS_MAX.requestsPerDay, PAID_REQUESTS_PER_DAY];
  const isOurs = limits === null || ours.includes(limits.requestsPerDay);
  if (!isOurs || limits?.requestsPerDay === requestsPerDay) return account;
  return accounts.setLimits(account.id, { ...(limits ?? LIMITS_MAX), requestsPerDay }, OPERATOR);
}

/** The next act on an account's way to active, or null when there is none left to take. */
async function step(
  { accounts, vettings, vetter }: Onboarding,
  account: Account,
): Promise<Account | null> {
  switch (account.state) {
    case 'onboarding':
      return accounts.declare(account.id, declaration(), OPERATOR);
    case 'declared':
      await vetter.vet(account.id, 'onboarding');
      return accounts.get(account.id);
    case 'in_review':
      // A fresh machine has no list, and without one no applicant is clear.
      return vettings.decide(account.id, {
        decision: 'approved',
        vettingId: (await vettings.openReview(account.id))?.vettingId ?? null,
        actor: OPERATOR,
        note: 'A demo organisation of this machine.',
      });
    case 'approved':
      return accounts.sign(account.id, contract(), OPERATOR);
    case 'contracted':
      await vetter.vet(account.id, 'operator');
      account = await accounts.get(account.id);
      return account.state === 'contracted' ? accounts.activate(account.id, OPERATOR) : account;
    case 'screened':
    case 'active':
    case 'suspended':
    case 'rejected':
    case 'closed':
      break;
  }
  return null;
}

function declaration(): Parameters<AccountRegistry['declare']>[1] {
  const statements = STATEMENTS[DECLARATION_VERSION]!;
  return {
    version: DECLARATION_VERSION,
    statements: Object.fromEntries(statements.map(({ id, expected }) => [id, expected])),
    country: 'FR',
    industry: 'software',
    tradingNames: [],
    parties: [{ role: 'director', name: CONTACT.name, country: 'FR' }],
    declaredBy: CONTACT.name,
  };
}

function contract(): Parameters<AccountRegistry['sign']>[1] {
  return {
    kind: 'pilot',
    documentSha256: hash('sha256', 'A trial on one machine. There is no contract.'),
    signatory: CONTACT.name,
    signedAt: systemSurroundings.now(),
  };
}

async function ensureKey(
  keys: KeyRegistry,
  account: Account,
  stored: string | undefined,
): Promise<string> {
  if (stored !== undefined) {
    const known = await keys.findByHash(hashKey(stored));
    if (known?.orgId === account.id && known.state === 'active') return stored;
  }
  if (account.state !== 'active') return stored ?? '';
  const scopes: readonly Scope[] = scopesOnPlan(SCOPES, account.plan);
  const { plaintext } = await keys.issue(account.id, { name: 'Demo key', scopes }, OPERATOR);
  return plaintext;
}

async function readStored(dataDir: string): Promise<Partial<Record<Plan, string>>> {
  try {
    const parsed: unknown = JSON.parse(await readFile(join(dataDir, FILE), 'utf8'));
    return typeof parsed === 'object' && parsed !== null ? parsed : {};
  } catch {
    // No file yet, or one that was cut short: the keys are issued anew.
    return {};
  }
}

/** Written beside and renamed, so that a cut never leaves half a file. */
async function writeStored(dataDir: string, keys: Record<Plan, string>): Promise<void> {
  await mkdir(dataDir, { recursive: true });
  const path = join(dataDir, FILE);
  await writeFile(`${path}.new`, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}
