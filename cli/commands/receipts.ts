import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import {
  createRecalculationRequests,
  type RecalculationRequests,
  type Restatement,
  type WaitingRecalculation,
} from '#shared/receipts/postgres/recalculation-requests.ts';
import { createMeteredRecords } from '#shared/metering/postgres/metered-records.ts';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { findRequest, type RequestFacts } from '#shared/receipts/postgres/request-look-up.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { meteredIn } from '#cli/auditing/pack-tables.ts';
import { openArchive } from '#cli/verify/archive-file.ts';
import { openPack } from '#cli/verify/pack-file.ts';
import { actorFrom, asOperator, type OperatorDeps, REASON, TICKET } from '#cli/operator.ts';
import { printFields, printJson, printTable, type Row } from '#cli/print.ts';
import { timeOption } from '#cli/time-option.ts';

/** More than a person reads in a terminal. */
const LISTED_MAX = 10_000;
/** Between two looks at a run; its pages take about a tenth of a second each. */
const LOOK_MS = 500;

interface ListOptions {
  org?: string;
  parked?: boolean;
  limit: string;
  json?: boolean;
}

interface RecalculateOptions {
  org: string;
  since: string;
  methodology?: string;
  actor?: string;
  reason?: string;
  wait?: boolean;
  json?: boolean;
}

/** `docket receipts …`: what came of a request, degraded receipts that wait, and having receipts computed again. */
export function register(program: Command): void {
  const receipts = program
    .command('receipts')
    .description('what came of a request; receipts that wait for an estimate, or need another');
  receipts
    .command('show <id>')
    .description('show what is on record of a request: whose, when, its outcome; never its content')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nThe id is that of the request (req_…), of its answer (chatcmpl-…, cmpl-…, resp_…, msg_…) or of its\nreceipt (rcpt_…, or its address).\n',
    )
    .action((id: string, options: { json?: boolean }) =>
      asOperator((deps) => show(deps, id, options.json)),
    );
  receipts
    .command('list')
    .description('list degraded receipts that wait for their recalculation')
    .option('--parked', 'only those that were tried often enough and wait for a person')
    .option('--org <id>', 'only those of this organisation')
    .option('--limit <n>', 'how many at most', '100')
    .option('--json', 'for programs')
    .action((options: ListOptions) => asOperator((deps) => list(deps, options)));
  receipts
    .command('accuracy')
    .description('compare estimates with what meters measured, by model and endpoint')
    .option('--since <time>', 'of requests since: a date, or a time as in RFC 3339')
    .option('--json', 'for programs')
    .action((options: { since?: string; json?: boolean }) =>
      asOperator((deps) => accuracy(deps, options)),
    );
  receipts
    .command('metered [digest]')
    .description(
      'show the metered interval that a receipt names by digest (measurement.metered.digest)',
    )
    .option(
      '--pack <pack.zip>',
      'all that receipts of this pack name, each as a file <digest>.json',
    )
    .option('--out <directory>', 'where to; <pack>-metered when absent')
    .addHelpText(
      'after',
      '\nPrints canonical JSON: its SHA-256 is the digest. It names requests of every organisation: for\noperators and their auditors.\n',
    )
    .action((digest: string | undefined, { pack, out }: { pack?: string; out?: string }) => {
      if ((digest === undefined) === (pack === undefined)) {
        throw new Error('Name one interval by its digest, or those of a pack with --pack.');
      }
      return asOperator((deps) =>
        pack === undefined ? metered(deps, digest!) : meteredOfPack(deps, pack, out),
      );
    });
  receipts
    .command('recalculate')
    .description('recalculate degraded receipts now, and restate those of older methodologies')
    .requiredOption('--org <id>', 'organisation')
    .requiredOption('--since <time>', 'issued since: a date, or a time as in RFC 3339')
    .option(
      '--methodology <id/version>',
      'refuse unless this is what they are restated with, e.g. docket-1/1.0',
    )
    .option(...REASON)
    .option(...TICKET)
    .option('--wait', 'until every receipt was looked at')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nNothing is edited: new receipts are appended that revise the old ones. Receipts of requests that failed or were refused have no estimate, and get none.\n\nExample:\n  $ npx docket receipts recalculate --org org_… --since 2026-11-01 --wait\n',
    )
    .action((options: RecalculateOptions) => asOperator((deps) => recalculate(deps, options)));
}

async function accuracy(
  { pool }: OperatorDeps,
  { since, json }: { since?: string; json?: boolean },
): Promise<void> {
  const from = firstReceiptIdAt(since === undefined ? 0 : timeOption('since', since));
  const rows = (await createMeteredRecords(pool).accuracy(from)).map((row) => ({
    model: row.model,
    endpoint: row.endpoint,
    requests: row.requests,
    estimated_kwh: row.estimated,
    measured_kwh: row.measured,
    ratio_p5: row.ratio5,
    ratio_p50: row.ratio50,
    ratio_p95: row.ratio95,
    within_interval: row.within,
    unmeasured: row.unmeasured,
  }));
  if (json === true) printJson(rows);
  else printTable(rows.map(rounded), 'No request was measured by a meter.');
}

/** Four digits are what a person compares. */
function rounded(row: Readonly<Record<string, string | number>>): Row {
  const short = (value: string | number) =>
    typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(4)) : value;
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, short(value)]));
}

async function metered({ pool }: OperatorDeps, digest: string): Promise<void> {
  const record = await createMeteredRecords(pool).record(digest);
  if (record === undefined)
    throw new Error(
      `There is no metered interval ${digest}: it starts with uEi, as a receipt writes it.`,
    );
  // Byte for byte what the digest is of.
  process.stdout.write(record);
}

/** What an auditor is handed beside a pack whose receipts were metered. */
async function meteredOfPack(
  { pool }: OperatorDeps,
  path: string,
  out = `${basename(path, '.zip')}-metered`,
): Promise<void> {
  const records = createMeteredRecords(pool);
  const archive = openArchive(path);
  try {
    const named = meteredIn(openPack(archive));
    mkdirSync(out, { recursive: true });
    const missing: string[] = [];
    // A span names the intervals that it is made of: they are added, and reached by the same loop.
    for (const digest of named) {
      const record = await records.record(digest);
      if (record === undefined) {
        missing.push(digest);
        continue;
      }
      writeFileSync(join(out, `${digest}.json`), record);
      const { intervals = [] } = JSON.parse(record) as { intervals?: string[] };
      for (const each of intervals) named.add(each);
    }
    printFields({ written: named.size - missing.length, written_to: out });
    if (missing.length === 0) return;
    process.stderr.write(`There is no metered interval ${missing.join(', ')}.\n`);
    process.exitCode = 1;
  } finally {
    archive.close();
  }
}

async function show({ pool }: OperatorDeps, id: string, json: boolean | undefined): Promise<void> {
  const facts = await findRequest(pool, id);
  if (facts === null) {
    throw new Error(
      `Nothing is on record of ${id}: it was refused before it ran, is not over, or never was.`,
    );
  }
  if (json === true) printJson(factsOf(facts));
  else printFields(factsOf(facts));
}

function factsOf(facts: RequestFacts): Row {
  return {
    request_id: facts.requestId,
    receipt_id: facts.receiptId,
    org_id: facts.orgId,
    organisation: facts.organisationName,
    key_id: facts.keyId,
    issued_at: timeText(facts.issuedAt),
    outcome: facts.outcome,
    refusal_rule: facts.refusalRule,
    kind: facts.kind,
    tier: facts.tier,
    model: facts.model,
    region: facts.region,
    route: facts.route,
    input_tokens: facts.inputTokens,
    output_tokens: facts.outputTokens,
    ledger_index: facts.ledgerIndex,
    revised_by: facts.revisedBy,
  };
}

function timeText(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

async function list(
  { pool, surroundings, accounts }: OperatorDeps,
  options: ListOptions,
): Promise<void> {
  const limit = Number(options.limit);
  if (!Number.isInteger(limit) || limit < 1 || limit > LISTED_MAX) {
    throw new Error(`--limit must be a whole number from 1 to ${LISTED_MAX}.`);
  }
  // Nothing waits for an organisation that does not exist, and that would look like good news.
  if (options.org !== undefined) await accounts.get(options.org);
  const found = await createRecalculationRequests(pool, surroundings).waiting({
    ...(options.parked === true ? { state: 'parked' } : {}),
    ...(options.org === undefined ? {} : { orgId: options.org }),
    limit,
  });
  if (options.json === true) printJson(found.map(describe));
  else printTable(found.map(describe), 'No receipt waits for its recalculation.');
}

function describe(row: WaitingRecalculation) {
  return {
    receipt_id: row.receiptId,
    org_id: row.orgId,
    state: row.state,
    attempts: row.attempts,
    stage: row.stage,
    code: row.code,
    since: timeText(row.createdAt),
    next_attempt: row.state === 'parked' ? null : timeText(row.dueAt),
  };
}

async function recalculate(deps: OperatorDeps, options: RecalculateOptions): Promise<void> {
  const requests = createRecalculationRequests(deps.pool, deps.surroundings);
  const since = timeOption('since', options.since);
  if (options.methodology !== undefined) refuseUnlessCurrent(options.methodology);
  const actor = await actorFrom(options);
  // Refuses an organisation that is none.
  await deps.accounts.get(options.org);
  const { reason } = options;
  const by = reason === undefined ? { actor } : { actor, reason };
  const flagged = await requests.requestSince(options.org, since, by);
  const run = options.wait === true ? await finished(requests, options.org) : null;
  const outcome = { org_id: options.org, flagged, ...(run === null ? {} : counts(run)) };
  if (options.json === true) printJson(outcome);
  else printFields(outcome);
}

/** Receipts are restated with what new ones are computed with; an operator should not learn afterwards that it was another. */
function refuseUnlessCurrent(asked: string): void {
  const { id, version } = shippedMethodologies().current;
  const current = `${id}/${version}`;
  if (current !== asked && !current.startsWith(`${asked}.`))
    throw new Error(`Receipts are restated with ${current}, not with ${asked}.`);
}

async function finished(requests: RecalculationRequests, org: string): Promise<Restatement> {
  for (;;) {
    const run = await requests.restatement(org);
    if (run === null) throw new Error('The run is gone.');
    if (run.finishedAt !== null) return run;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}

function counts({ examined, restated, skipped }: Restatement) {
  return { examined, restated, skipped };
}
