import type { Command } from 'commander';
import { readLogin, removeLogin } from '#cli/login-file.ts';
import { asOperator, databaseUrl, thisPlace } from '#cli/operator.ts';

/** `docket logout`: the end of `docket login`. */
export function register(program: Command): void {
  program
    .command('logout')
    .description('end what docket login began: acts are those of this machine’s user again')
    .action(async () => {
      const url = await databaseUrl();
      const login = readLogin(url);
      if (login !== undefined) {
        await asOperator(({ commandLines }) => commandLines.forget(login.token));
        removeLogin(url);
      }
      process.stdout.write(`Acts are those of ${thisPlace()} now.\n`);
    });
}
