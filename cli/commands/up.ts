import type { Command } from 'commander';

/** `docket up`: everything on one machine, with nothing configured. */
export function register(program: Command): void {
  program
    .command('up')
    .description(
      'run everything on this machine: PostgreSQL, Redis, a sandbox upstream, all processes',
    )
    .addHelpText(
      'after',
      `
Settings come from the environment; these matter here:
  PORT              port of the API (8080)
  DOCKET_DATA_DIR   where data and keys live (.docket); they survive a restart
  DATABASE_URL      use this PostgreSQL in place of an embedded one
  REDIS_URL         use this Redis in place of one of our own
  CATALOGUE         models, regions and endpoints
  PROVIDERS         whose models are offered when the environment has their key (OPENAI_API_KEY and others), or none
  REPLICAS          several of a role, as in api=2,inference=2

SIGHUP has every process read the catalogue again; a bad one is refused, and the old one stays in use. Ctrl-C, SIGTERM
(sent to it, or to the npm or npx that began it) and a terminal that closes stop everything, in order.`,
    )
    .action(async () => {
      // Loaded when it runs: the other commands need no database servers.
      const { up } = await import('#embedded/launcher/up.ts');
      await up();
    });
}
