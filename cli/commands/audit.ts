import type { Command } from 'commander';
import type { AuditVerdict } from '#shared/accounts/audit/chain.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { auditJudgement } from '#cli/audit/judgement.ts';
import { faultOfSignedHeads } from '#cli/audit/signed-heads.ts';
import { readInput } from '#cli/input.ts';
import { asOperator } from '#cli/operator.ts';
import { printJson, printTable } from '#cli/print.ts';
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

async function verifyStored(options: { org?: string; json?: boolean }): Promise<void> {
  await asOperator(async ({ audit: log, pool }) => {
    const signatures = signatureCheck('checkpoints');
    const verdicts: AuditVerdict[] = [];
    for await (const verdict of log.verify(options.org)) {
      const fault = verdict.fault ?? (await faultOfSignedHeads(pool, verdict.orgId, signatures));
      verdicts.push({ ...verdict, fault });
    }
    // Whoever has an account or acts has entries: an empty answer would call a mistyped organisation sound.
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
        : { keys: trustIn({ didJson: await beside(trust), source: trust, isChosen: true }).keys }),
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
