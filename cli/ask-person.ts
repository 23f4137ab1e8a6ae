import { setTimeout as delay } from 'node:timers/promises';
import { type OperatorKeyTerms, spacedCode } from '#shared/persons/command-line.ts';
import type { SignedInOperator } from '#shared/persons/postgres/command-lines.ts';
import { dashboardUrl } from './dashboard-url.ts';
import { type OperatorDeps, thisPlace } from './operator.ts';

/** A person looks at a page meanwhile. */
const LOOK_AGAIN_MS = 1_000;

interface Asked {
  /** Of an operator key; null where this command line itself asks to act. */
  key: OperatorKeyTerms | null;
  /** What is to be allowed. */
  what: string;
  /** The command that asks again. */
  again: string;
}

/**
 * Asks for what a person allows on a page of the dashboard, and waits until they have.
 * @throws Error when they have not within ten minutes
 */
export async function askPerson(
  { commandLines }: Pick<OperatorDeps, 'commandLines'>,
  { key, what, again }: Asked,
): Promise<{ token: string; code: string; signedIn: SignedInOperator }> {
  const { token, code } = await commandLines.ask(thisPlace(), key);
  const page = `${await dashboardUrl()}/service/command-line?code=${spacedCode(code)}`;
  process.stderr.write(
    `Open ${page}\nand allow ${what} to act in your name. The code is ${spacedCode(code)}, for ten minutes.\n`,
  );
  for (;;) {
    const found = await commandLines.by(token, key === null ? 'command line' : 'key');
    if (found === null)
      throw new Error(`The code is over, and was not allowed. Ask again: ${again}.`);
    if (found !== 'waiting') return { token, code, signedIn: found };
    await delay(LOOK_AGAIN_MS);
  }
}
