import { basename } from 'node:path';
import type { Command } from 'commander';
import { createExportRegistry, type ExportRequest } from '#shared/packs/postgres/exports.ts';
import { openExportStore } from '#shared/packs/files/open-store.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { ExportDescription } from '#shared/packs/export-record.ts';
import { readKeyFile } from '#cli/ask-api.ts';
import { apiExports, type ExportAccess, operatorExports } from '#cli/exports/access.ts';
import { downloadExport, waitForExport } from '#cli/exports/transfer.ts';
import { actorFrom, asOperator, REASON, TICKET } from '#cli/operator.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { timeOption } from '#cli/time-option.ts';

interface AccessOptions {
  org?: string;
  actor?: string;
  url?: string;
  keyFile?: string;
  json?: boolean;
}

interface CreateOptions extends AccessOptions {
  from?: string;
  to?: string;
  first?: string;
  last?: string;
  checkpoint?: string;
  wait?: boolean;
}

/** `docket exports …`: evidence packs, through the API with a key or in the database as an operator. */
export function register(program: Command): void {
  const exports = program.command('exports').description('evidence packs of an organisation');
  const withAccess = (command: Command): Command =>
    command
      .option('--org <id>', 'as an operator, in the database: the organisation')
      .option(...TICKET)
      .option(...REASON)
      .option('--url <base url>', 'as a caller, through the API: its address, ending in /v1')
      .option('--key-file <path>', 'file with the API key, - for standard input')
      .option('--json', 'for programs');
  withAccess(exports.command('create').description('ask for a pack: a range of the ledger, or all'))
    .option('--from <time>', 'entries integrated at this time or later, ISO 8601')
    .option('--to <time>', 'entries integrated before this time')
    .option('--first <index>', 'first entry')
    .option('--last <index>', 'last entry')
    .option('--checkpoint <size>', 'a signed checkpoint’s size; the newest when absent')
    .option('--wait', 'until the pack is ready')
    .action(create);
  withAccess(exports.command('list').description('the newest packs, newest first')).action(
    (options: AccessOptions) => withExports(options, (access) => list(access, options)),
  );
  withAccess(exports.command('wait <id>').description('wait until a pack is ready')).action(
    (id: string, options: AccessOptions) =>
      withExports(options, async (access) => show(await wait(access, id), options)),
  );
  withAccess(exports.command('download <id>').description('fetch a pack; goes on where it ended'))
    .option('-o, --output <file>', 'where to; the pack’s own name when absent')
    .action(download);
}

function create(options: CreateOptions): Promise<void> {
  return withExports(options, async (access) => {
    const created = await access.create(requestOf(options));
    show(options.wait === true ? await wait(access, created.id) : created, options);
  });
}

async function list(access: ExportAccess, { json }: AccessOptions): Promise<void> {
  const found = await access.list();
  if (json === true) return printJson(found);
  const rows = found.map(({ id, status, progress, size_bytes: bytes, created_at, expires_at }) => ({
    id,
    status,
    receipts: progress.total,
    bytes,
    asked_for: created_at,
    kept_until: expires_at,
  }));
  printTable(rows, 'There is no pack.');
}

function download(id: string, options: AccessOptions & { output?: string }): Promise<void> {
  return withExports(options, async (access) => {
    const ready = await wait(access, id);
    const bar = createProgressBar('Fetching');
    // The name is the server's: it says how the file is called, and not where it goes.
    const path = options.output ?? basename(ready.file_name);
    try {
      await downloadExport(access, ready, path, bar);
    } finally {
      bar.clear();
    }
    if (options.json === true) printJson({ ...ready, path });
    else {
      const done = `${path}: ${ready.size_bytes} bytes, SHA-256 ${ready.sha256}`;
      process.stdout.write(`${plain(done)}\n`);
    }
  });
}

async function wait(access: ExportAccess, id: string): Promise<ExportDescription> {
  const bar = createProgressBar('Packing');
  try {
    return await waitForExport(access, id, bar);
  } finally {
    bar.clear();
  }
}

async function withExports(
  options: AccessOptions,
  work: (access: ExportAccess) => Promise<void>,
): Promise<void> {
  const { org, url } = options;
  if (url !== undefined) return work(apiExports({ baseUrl: url, apiKey: readKey(options) }));
  if (org === undefined) {
    throw new Error('Name --org (as an operator), or --url and --key-file (through the API).');
  }
  const actor = await actorFrom(options);
  return asOperator(({ pool, surroundings }) =>
    work(
      operatorExports({
        exports: createExportRegistry(pool, surroundings),
        store: openExportStore(loadToolConfig()),
        orgId: org,
        actor,
      }),
    ),
  );
}

function readKey({ keyFile }: AccessOptions): string {
  if (keyFile === undefined) throw new Error('Name --key-file: a file with the API key, or -.');
  return readKeyFile(keyFile);
}

function requestOf(options: CreateOptions): ExportRequest {
  const { from, to, first, last, checkpoint } = options;
  return {
    ...(from === undefined ? {} : { from: timeOption('from', from) }),
    ...(to === undefined ? {} : { to: timeOption('to', to) }),
    ...(first === undefined ? {} : { firstIndex: indexOf('first', first) }),
    ...(last === undefined ? {} : { lastIndex: indexOf('last', last) }),
    ...(checkpoint === undefined ? {} : { checkpointSize: indexOf('checkpoint', checkpoint) }),
  };
}

function indexOf(name: string, text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw invalidParam(name, `--${name} must be a whole number.`);
}

function show(shown: ExportDescription, { json }: AccessOptions): void {
  if (json === true) return printJson(shown);
  const { progress, size_bytes: size } = shown;
  printFields({
    id: shown.id,
    status: shown.status,
    receipts: `${progress.done} of ${progress.total}, entries ${shown.first_index} to ${shown.last_index}`,
    checkpoint: `${shown.checkpoint_size} entries`,
    file: shown.file_name,
    ...(size === null ? {} : { bytes: size, sha256: shown.sha256, expires: shown.expires_at }),
  });
}
