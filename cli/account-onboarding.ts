import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Command } from 'commander';
import type { Account, DeclaredParty } from '#shared/accounts/account.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';
import { planFrom, printAccount, run, type Common } from './account-output.ts';
import { asOperator, REASON, vetterOf, type OperatorDeps, TICKET } from './operator.ts';

interface CreateOptions extends Common {
  name: string;
  plan: string;
  billingName: string;
  billingEmail: string;
  technicalName: string;
  technicalEmail: string;
}

interface DeclareOptions extends Common {
  country: string;
  industry: string;
  declaredBy: string;
  tradingName: string[];
  owner: string[];
  director: string[];
  answer: string[];
}

interface SignOptions extends Common {
  kind: 'pilot' | 'service';
  document: string;
  signatory: string;
  signedAt?: string;
}

/** The steps of onboarding, in the specification's order. */
export function registerOnboarding(accounts: Command): void {
  const collect = (value: string, previous: string[]): string[] => [...previous, value];
  accounts
    .command('create')
    .description('create an account; the first step of onboarding')
    .requiredOption('--name <name>', 'organisation')
    .requiredOption('--plan <plan>', PLANS.join(', '))
    .requiredOption('--billing-name <name>', 'billing contact')
    .requiredOption('--billing-email <address>', 'billing contact')
    .requiredOption('--technical-name <name>', 'technical contact')
    .requiredOption('--technical-email <address>', 'technical contact')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((options: CreateOptions) =>
      run(options, (deps, actor) => create(deps, actor, options)),
    );
  accounts
    .command('declare <org-id>')
    .description(
      'record the self-declaration, or correct it under review, and screen the applicant',
    )
    .requiredOption('--country <code>', 'ISO 3166-1, two letters')
    .requiredOption('--industry <name>', 'as in docs/accounts.md')
    .requiredOption('--declared-by <name>', 'the person who declares')
    .option('--trading-name <name>', 'a further name (repeatable)', collect, [])
    .option('--owner <name,code>', 'an owner and its country (repeatable)', collect, [])
    .option('--director <name,code>', 'a director and their country (repeatable)', collect, [])
    .option('--answer <id=yes|no>', 'answer to a statement (repeatable)', collect, [])
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, options: DeclareOptions) =>
      run(options, (deps, actor) => declare(deps, actor, id, options)),
    );
  accounts
    .command('screen <org-id>')
    .description('screen an account again, now')
    .option('--json', 'for programs')
    .action((id: string, options: { json?: boolean }) =>
      asOperator(async (deps) => {
        await vetterOf(deps).vet(id, 'operator');
        printAccount(await deps.accounts.get(id), options.json);
      }),
    );
  accounts
    .command('sign <org-id>')
    .description('record the signed contract')
    .requiredOption('--kind <kind>', 'pilot or service')
    .requiredOption('--document <file>', 'the signed document; only its SHA-256 is kept')
    .requiredOption('--signatory <name>', 'who signed for the organisation')
    .option('--signed-at <time>', 'ISO 8601; now when absent')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, options: SignOptions) =>
      run(options, (deps, actor) => sign(deps, actor, id, options)),
    );
  accounts
    .command('activate <org-id>')
    .description('make an account active, so that keys can be issued')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((id: string, options: Common) =>
      run(options, (deps, actor) => deps.accounts.activate(id, actor)),
    );
}

function create(
  { accounts }: OperatorDeps,
  actor: Actor,
  options: CreateOptions,
): Promise<Account> {
  return accounts.create(
    {
      name: options.name,
      plan: planFrom(options.plan),
      billing: { name: options.billingName, email: options.billingEmail },
      technical: { name: options.technicalName, email: options.technicalEmail },
    },
    actor,
  );
}

async function declare(
  deps: OperatorDeps,
  actor: Actor,
  id: string,
  options: DeclareOptions,
): Promise<Account> {
  const statements: Record<string, boolean> = {};
  for (const answer of options.answer) {
    const [statement, value] = answer.split('=');
    if (statement === undefined || (value !== 'yes' && value !== 'no')) {
      throw invalidParam('answer', 'Answers are <statement>=yes or <statement>=no.');
    }
    statements[statement] = value === 'yes';
  }
  const ids = STATEMENTS[DECLARATION_VERSION]!.map((statement) => statement.id);
  const missing = ids.filter((statement) => statements[statement] === undefined);
  if (missing.length > 0) throw invalidParam('answer', `Not answered: ${missing.join(', ')}.`);
  const declaration = {
    version: DECLARATION_VERSION,
    statements,
    country: options.country,
    industry: options.industry,
    tradingNames: options.tradingName,
    parties: [...partiesFrom('owner', options.owner), ...partiesFrom('director', options.director)],
    declaredBy: options.declaredBy,
  };
  await deps.accounts.declare(id, declaration, actor);
  await vetterOf(deps).vet(id, 'onboarding');
  return deps.accounts.get(id);
}

/** `Ada Example,GB`: the code stands behind the last comma, a name may hold others. */
function partiesFrom(role: DeclaredParty['role'], texts: readonly string[]): DeclaredParty[] {
  return texts.map((text) => {
    const comma = text.lastIndexOf(',');
    if (comma < 0) throw invalidParam(role, `Name and country, as in --${role} "Ada Example,GB".`);
    return { role, name: text.slice(0, comma), country: text.slice(comma + 1).trim() };
  });
}

async function sign(
  deps: OperatorDeps,
  actor: Actor,
  id: string,
  options: SignOptions,
): Promise<Account> {
  const { accounts, surroundings } = deps;
  if (options.kind !== 'pilot' && options.kind !== 'service') {
    throw invalidParam('kind', 'A contract is a pilot or a service contract.');
  }
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(options.document)) digest.update(chunk as Buffer);
  const signedAt =
    options.signedAt === undefined
      ? surroundings.now()
      : (parseTimeOrDay(options.signedAt) ?? Number.NaN);
  const { kind, signatory } = options;
  const contract = { kind, signatory, signedAt, documentSha256: digest.digest('hex') };
  await accounts.sign(id, contract, actor);
  // The signatory is compared like everyone else who was named.
  await vetterOf(deps).vet(id, 'operator');
  return accounts.get(id);
}
