import type { Command } from 'commander';
import type { AuditVerdict } from '#shared/accounts/audit/chain.ts';
import {
  AUDIT_ACTIONS,
  type AuditEntry,
  isAuditAction,
  SERVICE_CHAIN,
} from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';
import { countFrom } from '#cli/account-output.ts';
import { auditJudgement } from '#cli/audit/judgement.ts';
import { faultOfSignedHeads } from '#cli/audit/signed-heads.ts';
import { readInput } from '#cli/input.ts';
import { asOperator } from '#cli/operator.ts';
import { printJson, printTable, type Row, time } from '#cli/print.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { signatureCheck } from '#cli/signature-check.ts';
import { utf8 } from '#cli/utf8.ts';
import { trustIn } from '#cli/verify/judge-receipt.ts';
import { type Judgement, unjudged } from '#cli/verify/judgement.ts';

/** A million entries. */
const ENTRIES_BYTES_MAX = 512 * 1_048_576;
/** A did.json, a checkpoint, a proof. */
const BESIDE_BYTES_MAX = 4 * 1_048_576;

interface FileOptions {
  checkpoint: string;
  anchor?: string;
  trust?: string;
  json?: boolean;
}

/** `docket audit …`: the append-only record of acts. */
export function register(program: Command): void {
  const audit = program.command('audit').description('the audit log');
  audit
    .command('list')
    .description('list acts, newest first: of an organisation, or those that concern the service')
    .option('--org <id>', 'an organisation; acts on the service itself when absent')
    .option('--action <name>', 'only these: key.revoked')
    .option('--by <id>', 'only those of this key, user, operator or ticket')
    .option('--subject <id>', 'only those on this key, export, person …')
    .option('--from <time>', 'at this time or later, ISO 8601')
    .option('--to <time>', 'before this time')
    .option('--limit <n>', 'how many at most', '100')
    .option('--json', 'for programs')
    .action((options: ListOptions) => listActs(options));
  audit
    .command('verify')
    .description(
      'rebuild every hash chain and compare it with its head and with all heads that were signed',
    )
    .option('--org <id>', 'one organisation only')
    .option('--json', 'for programs')
    .action((options: { org?: string; json?: boolean }) => verifyStored(options));
  audit
    .command('verify-file')
    .description('check an audit log that was fetched by the API, offline: nothing is fetched')
    .argument(
      '<entries>',
      'pages of GET /v1/audit-log: one JSON document, or one a line; - for standard input',
    )
    .requiredOption('--checkpoint <file>', 'GET /v1/audit-log/checkpoint')
    .option('--anchor <file>', 'GET /v1/audit-log/anchor')
    .option('--trust <did.json>', 'the issuer’s did.json, fetched by you from its host')
    .option('--json', 'for programs')
    .action(verifyFile);
}

interface ListOptions {
  org?: string;
  action?: string;
  by?: string;
  subject?: string;
  from?: string;
  to?: string;
  limit: string;
  json?: boolean;
}

async function listActs({ org, json, limit, ...filters }: ListOptions): Promise<void> {
  const { action, by, subject, from, to } = filters;
  if (action !== undefined && !isAuditAction(action)) {
    throw invalidParam('action', `The action is one of ${AUDIT_ACTIONS.join(', ')}.`);
  }
  const request = {
    orgId: org ?? SERVICE_CHAIN,
    order: 'desc' as const,
    ...(action === undefined ? {} : { action }),
    ...(by === undefined ? {} : { actor: by }),
    ...(subject === undefined ? {} : { subject }),
    ...(from === undefined ? {} : { from: timeFrom('from', from) }),
    ...(to === undefined ? {} : { to: timeFrom('to', to) }),
  };
  await asOperator(async ({ audit, accounts }) => {
    // An organisation that is none has no acts either.
    if (org !== undefined) await accounts.get(org);
    const { items } = await audit.list({ ...request, limit: countFrom(limit) });
    if (json === true) printJson(items.map(actJson));
    else printTable(items.map(actRow), 'No such act.');
  });
}

function timeFrom(name: string, text: string): number {
  const moment = parseTimeOrDay(text);
  if (moment !== undefined) return moment;
  throw invalidParam(name, `--${name} must be a time as in ISO 8601, or a day.`);
}

/** As `GET /v1/audit-log` has it, without the hashes, which `docket audit verify` looks at. */
function actJson(entry: AuditEntry): object {
  const { id, sequence, at, action, actorKind: kind, actorId, details, ...rest } = entry;
  const { address, subject, reason } = rest;
  const acted = { id, sequence, at: time(at), action, actor: { kind, id: actorId }, address };
  return { ...acted, subject, reason, details: JSON.parse(details) as unknown };
}

function actRow(entry: AuditEntry): Row {
  const { at, action, actorKind, actorId, address, subject, reason } = entry;
  const acted = { at: time(at), action, by: `${actorKind}:${actorId}`, from: address };
  return { ...acted, on: subject, reason };
}

async function verifyStored(options: { org?: string; json?: boolean }): Promise<void> {
  await asOperator(async ({ audit: log, pool }) => {
    const signatures = signatureCheck('checkpoints');
    const verdicts: AuditVerdict[] = [];
    for await (const verdict of log.verify(options.org)) {
      const fault = verdict.fault ?? (await faultOfSignedHeads(pool, verdict.orgId, signatures));
      verdicts.push({ ...verdict, fault });
    }
    // Every account and every operator who acts has entries: an empty answer would call a mistyped organisation sound.
    if (options.org !== undefined && verdicts.length === 0) {
      throw new Fault('organisation_not_found');
    }
    if (options.json === true) printJson(verdicts.map(jsonOf));
    else printTable(verdicts.map(rowOf), 'The audit log is empty.');
    if (signatures === null) {
      process.stderr.write('Without keys, the signatures of heads were not checked.\n');
    }
    // The heads that are printed can be kept elsewhere: they show a log that was rewritten whole.
    if (verdicts.some(({ fault }) => fault !== null)) {
      throw new Error('The audit log has been tampered with.');
    }
  });
}

/** Exits as `docket verify` does. */
async function verifyFile(entries: string, options: FileOptions): Promise<void> {
  const { exitCode, report, text } = await judgeFile(entries, options).catch((error: unknown) =>
    unjudged(reasonOf(error), entries),
  );
  if (options.json === true) printJson(report);
  else process.stdout.write(text);
  process.exitCode = exitCode;
}

async function judgeFile(
  entries: string,
  { checkpoint, anchor, trust }: FileOptions,
): Promise<Judgement> {
  const beside = async (file: string): Promise<string> =>
    utf8(await readInput(file, BESIDE_BYTES_MAX));
  return auditJudgement(
    {
      entries: utf8(await readInput(entries, ENTRIES_BYTES_MAX)),
      checkpoint: await beside(checkpoint),
      ...(anchor === undefined ? {} : { anchor: await beside(anchor) }),
      ...(trust === undefined
        ? {}
        : { trust: trustIn({ didJson: await beside(trust), source: trust, isChosen: true }) }),
    },
    entries,
  );
}

function rowOf({ orgId, size, hash, fault }: AuditVerdict) {
  return {
    organisation: orgId,
    entries: size,
    verdict: fault === null ? 'sound' : `${fault.problem} at ${fault.sequence}`,
    head: hash,
  };
}

function jsonOf({ orgId, size, hash, fault }: AuditVerdict): object {
  return { org_id: orgId, size, hash, fault };
}
