import { basename } from 'node:path';
import type { Command } from 'commander';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import type { ImportedList } from '#shared/accounts/sanctions/listed.ts';
import { type ActOptions, actorFrom, asOperator, REASON, TICKET } from '#cli/operator.ts';
import { printFields, printJson, printTable, time, type Row } from '#cli/print.ts';

/** `docket sanctions …`: the lists that applicants are compared with. */
export function register(program: Command): void {
  const sanctions = program.command('sanctions').description('sanctions lists for screening');
  sanctions
    .command('import <file>')
    .description(
      'import a list: OFAC SDN (XML, CSV), EU or UN XML, OpenSanctions targets.simple.csv',
    )
    .option('--aliases <file>', 'OFAC alt.csv, beside sdn.csv')
    .option(...TICKET)
    .option(...REASON)
    .option('--json', 'for programs')
    .action((path: string, options: ActOptions & { aliases?: string }) =>
      asOperator(async ({ sanctions: store }) => {
        const actor = await actorFrom(options);
        const file = await openSanctionsFile(path, options.aliases);
        const upload = { ...file, entities: file.entities(), fileName: basename(path) };
        const { list, isNew } = await store.import(upload, actor);
        if (options.json === true) printJson({ ...jsonOf(list), is_new: isNew });
        else printFields(rowOf(list));
        process.stderr.write(
          isNew
            ? 'Existing accounts will be screened against it in the background.\n'
            : 'This version is current already; nothing has changed.\n',
        );
      }),
    );
  sanctions
    .command('status')
    .description('show the imported lists and how many accounts wait to be compared with them')
    .option('--json', 'for programs')
    .action((options: { json?: boolean }) =>
      asOperator(async ({ sanctions: store, vettings }) => {
        const lists = await store.lists();
        const due = await vettings.due(DUE_COUNTED_MAX);
        if (options.json === true) {
          printJson({ lists: lists.map(jsonOf), accounts_due: due.length });
          return;
        }
        printTable(lists.map(rowOf), 'No list has been imported: applicants go to manual review.');
        const more = due.length === DUE_COUNTED_MAX ? ' or more' : '';
        process.stdout.write(`Accounts to be screened: ${due.length}${more}\n`);
      }),
    );
}

/** Counting further would tell nothing more. */
const DUE_COUNTED_MAX = 10_000;

function rowOf(list: ImportedList): Row {
  return {
    source: list.source,
    current: list.current ? 'yes' : 'no',
    published: list.publishedOn,
    imported: time(list.importedAt),
    by: list.importedBy,
    parties: list.entities,
    names: list.names,
    file: list.fileName,
    version: list.version.slice(0, 12),
  };
}

function jsonOf(list: ImportedList): object {
  return {
    source: list.source,
    version: list.version,
    current: list.current,
    published_on: list.publishedOn,
    imported_at: time(list.importedAt),
    imported_by: list.importedBy,
    entities: list.entities,
    names: list.names,
    file_name: list.fileName,
  };
}
