import type { Command } from 'commander';

/** `docket run`: one process of the Procfile, in place of this one. */
export function register(program: Command): void {
  program
    .command('run <role>')
    .description('run one process of the service: a role of the Procfile, or the sandbox upstream')
    .action(async (role: string) => {
      const { entryOf } = await import('#embedded/launcher/roles.ts');
      await import(entryOf(role).href);
    });
}
