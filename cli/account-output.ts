import { limitsOf, type Account } from '#shared/accounts/account.ts';
import { describeAccount } from '#shared/accounts/describe.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { PLANS, type Plan } from '#shared/kernel/plan.ts';
import type { StaffRole } from '#shared/persons/roles.ts';
import { type ActOptions, actorFrom, asOperator, type OperatorDeps } from './operator.ts';
import { printFields, printJson, time, type Row } from './print.ts';

/** Options that every act on an account takes. */
export type Common = ActOptions;

/** A decision names what it was made on: another screening may have come meanwhile. */
export const SEEN = [
  '--screening <id>',
  'the screening you decide on, as docket review show names it',
] as const;

/**
 * Runs an act in the name of who acts here and prints the account as it then is.
 * @param roles of which a person who has signed in has to have one; operator when absent
 */
export async function run(
  options: Common,
  act: (deps: OperatorDeps, actor: Actor) => Promise<Account>,
  roles?: readonly StaffRole[],
): Promise<void> {
  const actor = await actorFrom(options, roles);
  await asOperator(async (deps) => printAccount(await act(deps, actor), options.json));
}

export function planFrom(text: string): Plan {
  const plan = PLANS.find((known) => known === text);
  if (plan === undefined) throw invalidParam('plan', `The plan is one of ${PLANS.join(', ')}.`);
  return plan;
}

/** A number of rows to print. */
export function countFrom(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) {
    throw invalidParam('limit', 'The limit is a whole number of at least 1.');
  }
  return count;
}

export function printAccount(account: Account, json: boolean | undefined): void {
  if (json === true) {
    printJson({ ...describeAccount(account), legal_hold: account.legalHold });
    return;
  }
  const limits = limitsOf(account);
  printFields({
    ...rowOf(account),
    identifier: account.identifier,
    'billing contact': `${account.billing.name} <${account.billing.email}>`,
    'technical contact': `${account.technical.name} <${account.technical.email}>`,
    'responses kept': account.keepResponses ? 'yes' : 'no',
    'legal hold': account.legalHold ? 'yes' : 'no',
    tags: account.tags.join(', ') || 'none',
    limits: `${limits.requestsPerSecond}/s, burst ${limits.burst}, ${limits.requestsPerDay} a day, ${limits.concurrentStreams} streams`,
  });
}

export function rowOf(account: Account): Row {
  return {
    id: account.id,
    name: account.name,
    state: account.state,
    plan: account.plan,
    since: time(account.stateChangedAt),
    created: time(account.createdAt),
  };
}
