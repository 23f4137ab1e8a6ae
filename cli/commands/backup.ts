import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { type Backup, newestBackup } from '#cli/backup/folder.ts';
import { type Restored, withRestored } from '#cli/backup/restored.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { type Examined, examineDatabase, printFinding, summaryOf } from '#cli/fsck/run.ts';
import { databaseUrl } from '#cli/operator.ts';
import { printFields, printJson, time } from '#cli/print.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { plain } from '#shared/kernel/plain-text.ts';

interface BackupOptions {
  check?: boolean;
  wal?: string;
  programs?: string;
  scratch: string;
  json?: boolean;
}

/** `docket backup --check`: whether a backup of the database can be restored, before it has to be. */
export function register(program: Command): void {
  program
    .command('backup <folder>')
    .description(
      'show the newest base backup of a folder; with --check restore a copy of it and examine the ledger in that',
    )
    .option('--check', 'restore a copy beside the server, examine it, and remove it')
    .option('--wal <folder>', 'the archive of WAL; `wal` in the folder when absent')
    .option(
      '--programs <folder>',
      'where `postgres` of the backup’s version is; found where Debian has it when absent',
    )
    .option('--scratch <folder>', 'where the copy lies meanwhile, with room for it', tmpdir())
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
The folder is what pg_basebackup and archive_command filled (docs/operations.md, Backup and restore). Nothing is written to it,
nor to the database. DATABASE_URL names the user and the database; REDIS_URL and WITNESSES what was published, as for
docket ledger fsck.

Exit codes with --check, as of fsck: 0 sound, with all that was published, 1 the copy could not be made or examined, 2 damaged,
3 sound, but something waits for a person, 4 what was published last is not in it: of a service at work, what came after the
last archived WAL.`,
    )
    .action(backup);
}

async function backup(folder: string, options: BackupOptions): Promise<void> {
  const found = await newestBackup(folder, options.wal);
  if (options.check !== true) return show(found, options);
  const { username, pathname } = new URL(await databaseUrl());
  const [copying, replaying] = [createProgressBar('Copying'), createProgressBar('Replaying')];
  const restore = {
    programs: await programsOf(found.major, options.programs),
    scratch: options.scratch,
    login: {
      user: decodeURIComponent(username),
      database: decodeURIComponent(pathname.slice(1)),
    },
    onCopied: (done: number, of: number) => copying.show(done, of),
    onReplayed: (done: number, of: number) => {
      copying.clear();
      replaying.show(done, of);
    },
  };
  await withRestored(found, restore, async ({ url, lastTransaction }) => {
    copying.clear();
    replaying.clear();
    if (options.json !== true) show(found, options, lastTransaction);
    const examined = await examineDatabase(
      { url },
      options.json === true ? () => {} : (finding) => printFinding(finding),
    );
    tell(examined, found, { lastTransaction }, options);
  }).finally(() => {
    copying.clear();
    replaying.clear();
  });
}

const described = ({ base, wal, major, startedAt }: Backup) => ({
  base,
  begun: time(startedAt),
  wal: wal ?? 'none: only what is in the base',
  postgresql: major,
});

function show(found: Backup, { json }: BackupOptions, lastTransaction?: number): void {
  if (json === true) return printJson({ ...found, startedAt: new Date(found.startedAt) });
  printFields({
    ...described(found),
    ...(lastTransaction === undefined ? {} : { last_transaction: time(lastTransaction) }),
  });
}

function tell(
  examined: Examined,
  found: Backup,
  { lastTransaction }: Pick<Restored, 'lastTransaction'>,
  { json }: BackupOptions,
): void {
  const { verdict } = examined;
  process.exitCode = EXIT_CODES.fsck[verdict].code;
  if (json === true) {
    const { base, wal = null } = found;
    return printJson({
      ...examined,
      backup: { base, wal, begun: new Date(found.startedAt) },
      last_transaction: lastTransaction === undefined ? null : new Date(lastTransaction),
    });
  }
  process.stdout.write(`${plain(`A copy was restored. ${summaryOf(examined)}`)}\n`);
  if (verdict === 'behind') process.stdout.write(found.wal === undefined ? NO_WAL : NOT_ARCHIVED);
}

const NO_WAL =
  'A restore would lose what is named above: there is no archive of WAL beside the base (archive_command; docs/operations.md, Backup and restore).\n';
const NOT_ARCHIVED =
  'A restore would lose what is named above, unless the old server’s pg_wal can still be read: it was published after the last WAL that is in the archive. A shorter archive_timeout makes it less, and a synchronous standby nothing.\n';

/** Where Debian and the official images have the server's programs. */
async function programsOf(major: string, named: string | undefined): Promise<string> {
  if (named !== undefined) {
    if (await hasServer(named)) return named;
    throw new Error(`${named} has no \`postgres\` (--programs).`);
  }
  const places = [
    `/usr/lib/postgresql/${major}/bin`,
    `/usr/local/pgsql/bin`,
    `/usr/pgsql-${major}/bin`,
    '/usr/local/bin',
  ];
  for (const place of places) if (await hasServer(place)) return place;
  throw new Error(
    `There is no server of PostgreSQL ${major} here (${places.join(', ')}): name the folder of its \`postgres\` by --programs.`,
  );
}

const hasServer = (folder: string): Promise<boolean> =>
  access(join(folder, 'postgres')).then(
    () => true,
    () => false,
  );
