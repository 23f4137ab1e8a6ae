import type { Command } from 'commander';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import {
  KEY_DAYS_MAX,
  type OperatorKeyTerms,
  readCode,
  spacedCode,
} from '#shared/persons/command-line.ts';
import type { OperatorKey } from '#shared/persons/postgres/command-lines.ts';
import { askPerson } from '#cli/ask-person.ts';
import { type ActOptions, actorFrom, asOperator, withActOptions } from '#cli/operator.ts';
import { printFields, printJson, printTable, type Row, time } from '#cli/print.ts';

const DAYS_DEFAULT = '30';

/** `docket operator-keys …`: by which programs act in the name of operators, at the admin API. */
export function register(program: Command): void {
  const keys = program
    .command('operator-keys')
    .description('keys by which programs act in the name of operators, at the admin API');
  keys
    .command('issue')
    .description('have a key issued, which an operator or reviewer allows on a page')
    .requiredOption('--name <name>', 'what the program is')
    .option('--days <n>', `for how long it holds, ${KEY_DAYS_MAX} at most`, DAYS_DEFAULT)
    .option('--json', 'for programs')
    .action(({ name, days, json }: { name: string; days: string; json?: boolean }) =>
      issue({ name, days: daysFrom(days) }, json),
    );
  keys
    .command('list')
    .description('list the keys that hold, newest first')
    .option('--json', 'for programs')
    .action(({ json }: { json?: boolean }) =>
      asOperator(async ({ commandLines }) => {
        const rows = (await commandLines.keys()).map(rowOf);
        if (json === true) printJson(rows);
        else printTable(rows, 'No operator keys.');
      }),
    );
  withActOptions(keys.command('revoke <id>').description('end a key of any person, at once'), {
    asksReason: true,
  }).action(revoke);
}

/** The key is made here, and is one once a person has allowed it. */
function issue(terms: OperatorKeyTerms, json: boolean | undefined): Promise<void> {
  return asOperator(async (deps) => {
    const { token, code, signedIn } = await askPerson(deps, {
      key: terms,
      what: `the operator key ${terms.name}, for ${terms.days} days,`,
      again: 'docket operator-keys issue',
    });
    const { person, until } = signedIn;
    const row = {
      id: spacedCode(code),
      name: terms.name,
      acts_as: person.email,
      until: time(until),
    };
    if (json === true) return printJson({ ...row, key: token });
    printFields({ key: token, ...row });
    process.stderr.write('The key is shown this one time. Store it now.\n');
  });
}

async function revoke(id: string, options: ActOptions): Promise<void> {
  const code = readCode(id);
  const actor = await actorFrom(options);
  await asOperator(async ({ commandLines }) => {
    if (code === null || !(await commandLines.revokeKey(code, actor)))
      throw new Fault('key_not_found', { message: 'No operator key holds under this id.' });
    const done = { id: spacedCode(code), revoked: 'yes' };
    if (options.json === true) printJson(done);
    else printFields(done);
  });
}

function rowOf({ code, key, person, place, allowedAt, until }: OperatorKey): Row {
  return {
    id: spacedCode(code),
    name: key!.name,
    acts_as: person.email,
    asked_from: place,
    allowed: time(allowedAt),
    until: time(until),
  };
}

function daysFrom(text: string): number {
  if (/^\d{1,4}$/.test(text)) return Number(text);
  throw invalidParam('days', `A key holds for 1 to ${KEY_DAYS_MAX} whole days.`);
}
