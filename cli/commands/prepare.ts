import type { Command } from 'commander';
import { loadToolConfig } from '#shared/config/config.ts';

/** `docket prepare`: what containers need before they start. */
export function register(program: Command): void {
  const prepare = program
    .command('prepare')
    .description('make what the containers of compose.yaml need before they start');
  prepare
    .command('secrets <directory>')
    .description('passwords, keys and addresses, a folder for each process; what is there stays')
    .option('--postgres <host:port>', 'where the processes find PostgreSQL', 'postgres:5432')
    .option('--redis <host:port>', 'where they find Redis', 'redis:6379')
    .action(async (directory: string, stores: { postgres: string; redis: string }) => {
      const { ensureSecrets } = await import('#embedded/containers/prepare.ts');
      await ensureSecrets(directory, stores);
    });
  prepare
    .command('database <directory>')
    .description('migrate as the owner, and give each process a login of its own')
    .action(async (directory: string) => {
      const { prepareDatabase } = await import('#embedded/containers/prepare.ts');
      const applied = await prepareDatabase(directory, ownerUrl());
      process.stdout.write(
        applied.length === 0 ? 'The schema is up to date\n' : `Applied ${applied.join(', ')}\n`,
      );
    });
  prepare
    .command('demo <directory>')
    .description('make demo organisations and print the key of the one with every right')
    .action(async (directory: string) => {
      const { demoKeys } = await import('#embedded/containers/prepare.ts');
      const { keys, organisations } = await demoKeys(directory, ownerUrl());
      if (keys.enterprise === '')
        throw new Error(
          `The demo organisation ${organisations.enterprise} is not active and has no key: see docket accounts show`,
        );
      process.stdout.write(`${keys.enterprise}\n`);
    });
}

function ownerUrl(): string {
  const { databaseUrl } = loadToolConfig().secrets;
  if (databaseUrl === undefined) throw new Error('DATABASE_URL is not set');
  return databaseUrl;
}
