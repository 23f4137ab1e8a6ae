import type { Command } from 'commander';
import type { AuditVerdict } from '#shared/accounts/audit/chain.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { asOperator } from '#cli/operator.ts';
import { printJson, printTable } from '#cli/print.ts';

/** `docket audit …`: the append-only record of acts. */
export function register(program: Command): void {
  const audit = program.command('audit').description('the audit log');
  audit
    .command('verify')
    .description('rebuild every hash chain and compare it with its head')
    .option('--org <id>', 'one organisation only')
    .option('--json', 'for programs')
    .action((options: { org?: string; json?: boolean }) =>
      asOperator(async ({ audit: log }) => {
        const verdicts: AuditVerdict[] = [];
        for await (const verdict of log.verify(options.org)) verdicts.push(verdict);
        // Whoever has an account or acts has entries: an empty answer would call a mistyped organisation sound.
        if (options.org !== undefined && verdicts.length === 0) {
          throw new Fault('organisation_not_found');
        }
        if (options.json === true) printJson(verdicts.map(jsonOf));
        else printTable(verdicts.map(rowOf), 'The audit log is empty.');
        // The heads that are printed can be kept elsewhere: they show a log that was rewritten whole.
        if (verdicts.some(({ fault }) => fault !== null)) {
          throw new Error('The audit log has been tampered with.');
        }
      }),
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
