import type { Command } from 'commander';
import type { SignedInOperator } from '#shared/persons/postgres/command-lines.ts';
import { askPerson } from '#cli/ask-person.ts';
import { readLogin, writeLogin } from '#cli/login-file.ts';
import { asOperator, databaseUrl, type OperatorDeps, thisPlace } from '#cli/operator.ts';
import { printFields, printJson, time } from '#cli/print.ts';

/** `docket login`: acts of this command line are a person's. */
export function register(program: Command): void {
  program
    .command('login')
    .description('have this command line act in the name of an operator, who allows it on a page')
    .option('--show', 'say who acts now, and change nothing')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
It prints an address and a code: sign in there as an operator or reviewer, and allow this command line. It acts in your name
for twelve hours, or until docket logout. Without it, acts are written down as those of the user of this machine.`,
    )
    .action(({ show, json }: { show?: boolean; json?: boolean }) =>
      asOperator(async (deps) => {
        const signedIn = show === true ? await now(deps) : await signIn(deps);
        if (json === true) printJson(describe(signedIn));
        else printFields(describe(signedIn));
      }),
    );
}

async function now({ commandLines }: OperatorDeps): Promise<SignedInOperator | null> {
  const login = readLogin(await databaseUrl());
  const found = login === undefined ? null : await commandLines.by(login.token);
  return found === 'waiting' ? null : found;
}

async function signIn(deps: OperatorDeps): Promise<SignedInOperator> {
  const asked = { key: null, what: thisPlace(), again: 'docket login' };
  const { token, signedIn } = await askPerson(deps, asked);
  writeLogin(await databaseUrl(), { token });
  return signedIn;
}

function describe(signedIn: SignedInOperator | null) {
  if (signedIn === null)
    return { actor: thisPlace(), name: null, email: null, roles: null, until: null };
  const { person, staff, until } = signedIn;
  return {
    actor: person.id,
    name: person.name,
    email: person.email,
    roles: staff.join(', ') || null,
    until: time(until),
  };
}
