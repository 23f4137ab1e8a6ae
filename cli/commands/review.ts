import type { Command } from 'commander';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { Review } from '#shared/accounts/vetting.ts';
import { actorFrom, asOperator } from '#cli/operator.ts';
import { printFields, printJson, printTable, time, type Row } from '#cli/print.ts';

/** `docket review …`: what the automated screening has left to a person. */
export function register(program: Command): void {
  const review = program.command('review').description('reviews of flagged applicants and hits');
  review
    .command('list')
    .description('list reviews, newest first')
    .option('--all', 'decided ones too')
    .option('--limit <n>', 'how many at most (100)', '100')
    .option('--json', 'for programs')
    .action((options: { all?: boolean; limit: string; json?: boolean }) =>
      asOperator(async ({ vettings }) => {
        const open = options.all === true ? {} : { open: true };
        const page = await vettings.reviews({ limit: limitFrom(options.limit), ...open });
        if (options.json === true) printJson(page.items.map(jsonOf));
        else printTable(page.items.map(rowOf), 'No reviews.');
      }),
    );
  review
    .command('show <review-id>')
    .description('show a review with every reason of its screening')
    .option('--json', 'for programs')
    .action((id: string, options: { json?: boolean }) =>
      asOperator(async ({ vettings }) => {
        const found = await vettings.review(id);
        const vetting =
          found.vettingId === null ? null : await vettings.vetting(found.orgId, found.vettingId);
        if (options.json === true) {
          printJson({ ...jsonOf(found), screening: vetting });
          return;
        }
        printFields({ ...rowOf(found), 'decided by': found.decidedBy, note: found.note });
        for (const { score, text } of vetting?.reasons ?? []) {
          process.stdout.write(`  ${score.toFixed(3)}  ${text}\n`);
        }
      }),
    );
  review
    .command('decide <review-id> <verdict>')
    .description('decide a review: approve or reject')
    .requiredOption('--reason <text>', 'why; the audit log keeps it')
    .requiredOption('--actor <who>', 'operator:<name>')
    .option('--json', 'for programs')
    .action(
      (id: string, verdict: string, options: { reason: string; actor: string; json?: boolean }) =>
        asOperator(async ({ vettings }) => {
          const decision = verdictFrom(verdict);
          const found = await vettings.review(id);
          if (found.decision !== null)
            throw invalidParam('review', 'The review is decided already.');
          const actor = actorFrom(options.actor);
          await vettings.decide(found.orgId, decision, actor, options.reason);
          const decided = await vettings.review(id);
          if (options.json === true) printJson(jsonOf(decided));
          else printFields(rowOf(decided));
        }),
    );
}

function verdictFrom(text: string): 'approved' | 'rejected' {
  if (text === 'approve') return 'approved';
  if (text === 'reject') return 'rejected';
  throw invalidParam('verdict', 'The verdict is approve or reject.');
}

function limitFrom(text: string): number {
  const limit = Number(text);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > 100) {
    throw invalidParam('limit', 'The limit is a whole number from 1 to 100.');
  }
  return limit;
}

function rowOf(review: Review): Row {
  return {
    id: review.id,
    organisation: review.organisationName,
    'organisation id': review.orgId,
    opened: time(review.openedAt),
    decision: review.decision,
    reason: review.reason,
  };
}

function jsonOf(review: Review): object {
  return {
    id: review.id,
    org_id: review.orgId,
    organisation_name: review.organisationName,
    screening_id: review.vettingId,
    reason: review.reason,
    opened_at: time(review.openedAt),
    decision: review.decision,
    decided_by: review.decidedBy,
    decided_at: time(review.decidedAt),
    note: review.note,
  };
}
