import type { Command } from 'commander';
import {
  checkComponents,
  checkIncidentText,
  checkIncidentTitle,
  componentsOf,
} from '#shared/catalogue/service-history.ts';
import { createStatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import { type ActOptions, actorFrom, asOperator, withActOptions } from '#cli/operator.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';

/** `docket incidents …`: what everyone is told at /status of what went wrong. */
export function register(program: Command): void {
  const incidents = program
    .command('incidents')
    .description('what everyone is told at /status of what went wrong');
  incidents
    .command('list')
    .description('list incidents of the last 90 days')
    .option('--json', 'for programs')
    .action(list);
  withActOptions(
    incidents
      .command('open <title>')
      .description('tell of an incident that begins now')
      .requiredOption('--text <text>', 'what is known')
      .option('--component <names...>', 'ledger, or region:<code>; the whole service when absent'),
  ).action(open);
  withActOptions(
    incidents
      .command('say <id>')
      .description('say more of an incident')
      .requiredOption('--text <text>', 'what is known now')
      .option('--over', 'it is over now'),
  ).action(say);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const found = await asOperator(({ pool, surroundings }) =>
    createStatusHistory(pool, surroundings).incidents(),
  );
  const rows = found.map(({ id, title, components, beganAt, endedAt }) => ({
    id,
    title,
    components: components.join(' '),
    began: new Date(beganAt).toISOString(),
    ended: endedAt === null ? null : new Date(endedAt).toISOString(),
  }));
  if (json === true) printJson(rows);
  else printTable(rows, 'No incidents.');
}

async function open(
  title: string,
  { text, component = [], ...options }: ActOptions & { text: string; component?: string[] },
): Promise<void> {
  const incident = {
    title: checkIncidentTitle(title),
    text: checkIncidentText(text),
    components: checkComponents(component, componentsOf(readCatalogue().catalogue.regions)),
    beganAt: Date.now(),
  };
  const actor = await actorFrom(options);
  const id = await asOperator(({ pool, surroundings }) =>
    createStatusHistory(pool, surroundings).open(incident, actor),
  );
  print({ id }, options);
}

async function say(
  id: string,
  { text, over = false, ...options }: ActOptions & { text: string; over?: boolean },
): Promise<void> {
  const said = { text: checkIncidentText(text), isOver: over };
  const actor = await actorFrom(options);
  const isThere = await asOperator(({ pool, surroundings }) =>
    createStatusHistory(pool, surroundings).say(id, said, actor),
  );
  if (!isThere) throw new Error(`There is no incident ${id}: docket incidents list names them.`);
  print({ id, over }, options);
}

function print(facts: { id: string; over?: boolean }, { json }: ActOptions): void {
  if (json === true) printJson(facts);
  else printFields(facts);
}
