import type { Command } from 'commander';
import { describeAccount } from '#shared/accounts/describe.ts';
import {
  ACCOUNT_STATES,
  limitsOf,
  type Account,
  type AccountState,
} from '#shared/accounts/account.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { PLANS, type Limits } from '#shared/kernel/plan.ts';
import { registerOnboarding } from '#cli/account-onboarding.ts';
import {
  SEEN,
  countFrom,
  planFrom,
  printAccount,
  rowOf,
  run,
  type Common,
} from '#cli/account-output.ts';
import { asOperator, type OperatorDeps, REASON, TICKET } from '#cli/operator.ts';
import { printJson, printTable } from '#cli/print.ts';

/** `docket accounts …`: the way of an organisation from application to closure. */
export function register(program: Command): void {
  const accounts = program.command('accounts').description('organisations and their onboarding');
  registerReading(accounts);
  registerOnboarding(accounts);
  registerStates(accounts);
  registerTerms(accounts);
}

function registerReading(accounts: Command): void {
  accounts
    .command('list')
    .description('list accounts, newest first')
    .option('--state <state>', 'only those in this state')
    .option(
      '--search <text>',
      'only those whose name, contacts or keys (id, first 8 characters) hold it',
    )
    .option('--limit <n>', 'how many at most', '100')
    .option('--json', 'for programs')
    .action((options: { state?: string; search?: string; limit: string; json?: boolean }) =>
      asOperator(async (deps) => {
        const { search } = options;
        const filter = { state: stateFrom(options.state), search };
        const found = await listAccounts(deps, filter, countFrom(options.limit));
        if (options.json === true) printJson(found.map(describeAccount));
        else printTable(found.map(rowOf), 'No accounts.');
      }),
    );
  accounts
    .command('show <org-id>')
    .description('show an account')
    .option('--json', 'for programs')
    .action((id: string, options: { json?: boolean }) =>
      asOperator(async (deps) => printAccount(await deps.accounts.get(id), options.json)),
    );
}

function registerStates(accounts: Command): void {
  const decisions = {
    approve: ['approved', 'approve an applicant under review'],
    reject: ['rejected', 'reject an applicant under review'],
  } as const;
  for (const [name, [decision, description]] of Object.entries(decisions)) {
    accounts
      .command(`${name} <org-id>`)
      .description(description)
      .requiredOption(...REASON)
      .requiredOption(...SEEN)
      .option(...TICKET)
      .option('--json', 'for programs')
      .action((id: string, options: Common & { reason: string; screening: string }) =>
        run(
          options,
          ({ vettings }, actor) => {
            const { reason: note, screening: vettingId } = options;
            return vettings.decide(id, { decision, vettingId, actor, note });
          },
          ['reviewer'],
        ),
      );
  }
  const acts = {
    suspend: 'suspend an active account',
    reinstate: 'end a suspension',
    close: 'close an account and revoke its keys',
  } as const;
  for (const [name, description] of Object.entries(acts)) {
    accounts
      .command(`${name} <org-id>`)
      .description(description)
      .requiredOption(...REASON)
      .option(...TICKET)
      .option('--json', 'for programs')
      .action((id: string, options: Common & { reason: string }) =>
        run(options, ({ accounts: registry }, actor) =>
          registry[name as keyof typeof acts](id, actor, options.reason),
        ),
      );
  }
}

function registerTerms(accounts: Command): void {
  accounts
    .command('set-plan <org-id> <plan>')
    .description(`set the plan: ${PLANS.join(', ')}`)
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, plan: string, options: Common) =>
      run(options, (deps, actor) => deps.accounts.setPlan(id, planFrom(plan), actor)),
    );
  accounts
    .command('identify <org-id>')
    .description('set how reports name an organisation beside its name')
    .option('--identifier <text>', 'a LEI, a number in a register, with what it is: LEI 5299…')
    .option('--none', 'none any more')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, options: Common & { identifier?: string; none?: boolean }) =>
      run(options, (deps, actor) => {
        const identifier = options.none === true ? null : options.identifier;
        if (identifier === undefined) {
          throw invalidParam('identifier', 'Name the identifier, or --none.');
        }
        return deps.accounts.identify(id, identifier, actor);
      }),
    );
  accounts
    .command('keep-responses <org-id> <on|off>')
    .description('set whether responses are kept for 24 hours; off deletes what is kept')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, choice: string, options: Common) =>
      run(options, (deps, actor) => deps.accounts.setKeepResponses(id, isOn(choice), actor)),
    );
  accounts
    .command('legal-hold <org-id> <on|off>')
    .description(
      'set whether the bodies of receipts stay where they are, neither archived nor dropped',
    )
    .requiredOption(...REASON)
    .option(...TICKET)
    .option('--json', 'for programs')
    .action((id: string, choice: string, options: Common & { reason: string }) =>
      run(options, (deps, actor) => deps.accounts.setLegalHold(id, isOn(choice), actor)),
    );
  accounts
    .command('set-limits <org-id>')
    .description('set the negotiated limits of an enterprise account')
    .option('--rps <n>', 'requests per second')
    .option('--burst <n>', 'burst')
    .option('--day <n>', 'requests per day')
    .option('--streams <n>', 'concurrent streams')
    .option('--none', 'back to the numbers of the plan')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, options: Common & LimitOptions) =>
      run(options, async (deps, actor) => {
        const limits =
          options.none === true ? null : limitsFrom(options, await deps.accounts.get(id));
        return deps.accounts.setLimits(id, limits, actor);
      }),
    );
}

function isOn(choice: string): boolean {
  if (choice !== 'on' && choice !== 'off') throw invalidParam('choice', 'Say on or off.');
  return choice === 'on';
}

interface LimitOptions {
  rps?: string;
  burst?: string;
  day?: string;
  streams?: string;
  none?: boolean;
}

function stateFrom(text: string | undefined): AccountState | undefined {
  const state = ACCOUNT_STATES.find((known) => known === text);
  if (text !== undefined && state === undefined) {
    throw invalidParam('state', `The state is one of ${ACCOUNT_STATES.join(', ')}.`);
  }
  return state;
}

async function listAccounts(
  { accounts }: OperatorDeps,
  { state, search }: { state: AccountState | undefined; search: string | undefined },
  limit: number,
): Promise<Account[]> {
  const found: Account[] = [];
  let hasMore = true;
  while (hasMore && found.length < limit) {
    const after = found.at(-1)?.id;
    const page = await accounts.list({
      limit: Math.min(100, limit - found.length),
      order: 'desc',
      after,
      state,
      search,
    });
    found.push(...page.items);
    hasMore = page.hasMore;
  }
  return found;
}

/** An option that is not given leaves its field as it is. */
function limitsFrom(options: LimitOptions, account: Account): Limits {
  const current = limitsOf(account);
  return {
    requestsPerSecond: Number(options.rps ?? current.requestsPerSecond),
    burst: Number(options.burst ?? current.burst),
    requestsPerDay: Number(options.day ?? current.requestsPerDay),
    concurrentStreams: Number(options.streams ?? current.concurrentStreams),
  };
}
