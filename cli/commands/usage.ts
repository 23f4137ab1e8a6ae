import type { Command } from 'commander';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createUsageReader } from '#shared/receipts/postgres/usage.ts';
import {
  groupingsOf,
  USAGE_DAYS_DEFAULT,
  USAGE_DAYS_MAX,
  USAGE_GROUPINGS_MAX,
  USAGE_GROUPS,
  USAGE_ROWS_MAX,
  type UsageFigures,
  usageAnswer,
} from '#shared/receipts/usage.ts';
import { asOperator, type OperatorDeps } from '#cli/operator.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';
import { timeOption } from '#cli/time-option.ts';

interface UsageOptions {
  org: string;
  from?: string;
  to?: string;
  groupBy: string;
  json?: boolean;
}

/** `docket usage`: what GET /v1/usage says to an organisation. */
export function register(program: Command): void {
  program
    .command('usage')
    .description('requests, tokens and footprint of an organisation, exactly')
    .requiredOption('--org <id>', 'organisation')
    .option(
      '--from <time>',
      `from a date, or a time as in RFC 3339; ${USAGE_DAYS_DEFAULT} days before --to when absent`,
    )
    .option('--to <time>', 'before a date or time; now when absent')
    .option(
      '--group-by <names>',
      `one to ${USAGE_GROUPINGS_MAX} of ${USAGE_GROUPS.join(', ')} or tag:…, with commas between`,
      'day',
    )
    .option('--json', 'for programs: all figures, as GET /v1/usage has them')
    .addHelpText(
      'after',
      '\nExample:\n  $ npx docket usage --org org_… --from 2026-11-01 --to 2026-12-01 --group-by model\n',
    )
    .action((options: UsageOptions) => asOperator((deps) => show(deps, options)));
}

async function show(
  { pool, accounts, surroundings }: OperatorDeps,
  options: UsageOptions,
): Promise<void> {
  const groupBy = groupingsOf(options.groupBy);
  const to = options.to === undefined ? surroundings.now() : timeOption('to', options.to);
  const from =
    options.from === undefined
      ? to - USAGE_DAYS_DEFAULT * DAY_MS
      : timeOption('from', options.from);
  if (from >= to || to - from > USAGE_DAYS_MAX * DAY_MS) {
    throw new Error(`--from must be before --to, by at most ${USAGE_DAYS_MAX} days.`);
  }
  const range = { from, to };
  const report = await createUsageReader(pool).usage({
    orgId: options.org,
    range,
    groupBy,
  });
  const { groups, total, currency } = report;
  // One that used nothing is not one that does not exist.
  if (total.requests === 0) await accounts.get(options.org);
  if (groups === null) {
    throw new Error(`There are more than ${USAGE_ROWS_MAX} groups: ask for a shorter period.`);
  }
  if (options.json === true) return printJson(usageAnswer(report, groups, { groupBy, range }));
  const rowOf = (group: string, { tokens, amounts, ...figures }: UsageFigures): Row => ({
    [groupBy.join(', ')]: group,
    requests: figures.requests,
    uncovered: figures.uncovered,
    failed: figures.failed,
    input_tokens: tokens.input,
    output_tokens: tokens.output,
    energy_kwh: amounts.energy.value,
    gwp_kgco2e: amounts.gwp.value,
    ...(currency === null ? {} : { [`cost_${currency}`]: figures.cost }),
  });
  const rows = groups.map(({ names, ...figures }) => rowOf(names.join(', '), figures));
  printTable([...rows, rowOf('total', total)], '');
}
