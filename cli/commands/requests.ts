import type { Command } from 'commander';
import { requestIdNamed } from '#shared/kernel/answer-ids.ts';
import { findRequestRow } from '#shared/requests/postgres/requests.ts';
import { replayed, requestFacts, type RequestRow } from '#shared/requests/row.ts';
import { asOperator, type OperatorDeps } from '#cli/operator.ts';
import { printFields, printJson, type Row } from '#cli/print.ts';

/** `docket requests …`: what became of a request, refused and failed ones too. */
export function register(program: Command): void {
  const requests = program
    .command('requests')
    .description('what became of a request, refused and failed ones too');
  requests
    .command('show <id>')
    .description('show status, error, times and tokens of a request; never its content')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nThe id is that of the request (req_…, as x-request-id has it), of its answer or of its receipt. What\nis over REQUESTS_KEPT_DAYS is gone; what its receipt says of it is shown by docket receipts show.\n',
    )
    .action((id: string, options: { json?: boolean }) =>
      asOperator((deps) => show(deps, id, options.json)),
    );
}

async function show({ pool }: OperatorDeps, id: string, json: boolean | undefined): Promise<void> {
  const row = await findRequestRow(pool, requestIdNamed(id));
  if (row === null) {
    throw new Error(
      `Nothing is on record of ${id}: it had no valid key, is not over, stands in a row for several, is older than requests are kept, or never was.`,
    );
  }
  if (json === true) printJson(fieldsOf(row));
  else printFields(fieldsOf(row));
}

function fieldsOf(row: RequestRow): Row {
  const { tags, ...facts } = requestFacts(row);
  return {
    request_id: row.id,
    org_id: row.orgId,
    ...facts,
    tags: tags.length === 0 ? null : tags.join(' '),
    replay_of: replayed(row),
  };
}
