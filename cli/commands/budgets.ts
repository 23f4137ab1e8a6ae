import type { Command } from 'commander';
import { spanOf, unitOf } from '#shared/budgets/budget.ts';
import { createBudgetRegistry, type UsedBudget } from '#shared/budgets/postgres/budgets.ts';
import { isoDay } from '#shared/kernel/time.ts';
import { asOperator, type OperatorDeps } from '#cli/operator.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';

/** `docket budgets …`: what an organisation means to use at most. */
export function register(program: Command): void {
  program
    .command('budgets')
    .description('budgets of an organisation')
    .command('list')
    .description('list an organisation’s budgets, and what is used of each, the oldest first')
    .requiredOption('--org <id>', 'organisation')
    .option('--json', 'for programs')
    .action((options: { org: string; json?: boolean }) =>
      asOperator((deps) => list(deps, options)),
    );
}

async function list(
  { accounts, pool, surroundings }: OperatorDeps,
  { org, json }: { org: string; json?: boolean },
): Promise<void> {
  // An organisation without budgets is not one that does not exist.
  await accounts.get(org);
  const now = surroundings.now();
  const rows = (await createBudgetRegistry(pool, surroundings).list(org)).map((budget) =>
    rowOf(budget, now),
  );
  if (json === true) printJson(rows);
  else printTable(rows, 'No budgets.');
}

function rowOf(budget: UsedBudget, now: number): Row {
  return {
    id: budget.id,
    name: budget.name,
    scope: budget.scope,
    target: budget.target,
    measure: budget.measure,
    period: budget.period,
    used: budget.used,
    limit: budget.limit,
    unit: unitOf(budget.measure, budget.currency),
    mode: budget.mode,
    shares: budget.shares.join(','),
    since: isoDay(spanOf(budget.period, now).start),
  };
}
