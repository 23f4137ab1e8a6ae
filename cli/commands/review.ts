import type { Command } from 'commander';
import { invalidParam } from '#shared/kernel/errors.ts';
import { describeReview } from '#shared/accounts/describe.ts';
import type { Declaration } from '#shared/accounts/account.ts';
import type { ListEntry } from '#shared/accounts/postgres/vetting.ts';
import type { RecordedVetting, Review, Vetting } from '#shared/accounts/vetting.ts';
import { SEEN } from '#cli/account-output.ts';
import { type ActOptions, actorFrom, asOperator, REASON, TICKET } from '#cli/operator.ts';
import { printFields, printJson, printTable, time, type Row } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';

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
        const limit = limitFrom(options.limit);
        const page = await vettings.reviews({ limit, order: 'desc', ...open });
        if (options.json === true) printJson(page.items.map(describeReview));
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
        const declaration = await vettings.declaration(found.orgId);
        const entries = vetting === null ? [] : await vettings.listEntries(vetting);
        if (options.json === true) {
          const screening = vetting === null ? null : screeningOf(vetting);
          const list_entries = entries.map((entry) => ({ ...entry, names: namesOf(entry) }));
          printJson({ ...describeReview(found), screening, declaration, list_entries });
          return;
        }
        printFields({
          ...rowOf(found),
          'decided by': found.decidedBy,
          note: found.note,
          screening: found.vettingId,
          screened: time(vetting?.screenedAt ?? null),
          lists: vetting?.lists.map(shortList).join(' · ') || 'none',
        });
        if (declaration !== null) printDeclaration(declaration);
        for (const { score, text } of vetting?.reasons ?? []) {
          process.stdout.write(`  ${score.toFixed(3)}  ${plain(text)}\n`);
        }
        for (const entry of entries) {
          const { entity, version, programme } = entry;
          const list = `${entity}, version ${version.slice(0, 12)}, ${programme || 'no programme'}`;
          process.stdout.write(`${plain(`  list entry ${list}: ${namesOf(entry).join(' · ')}`)}\n`);
        }
      }),
    );
  review
    .command('decide <review-id> <verdict>')
    .description('decide a review: approve or reject')
    .requiredOption(...REASON)
    .requiredOption(...SEEN)
    .option(...TICKET)
    .option('--json', 'for programs')
    .action((id: string, verdict: string, options: DecideOptions) =>
      asOperator(async ({ vettings }) => {
        const decision = verdictFrom(verdict);
        const found = await vettings.review(id);
        if (found.decision !== null) throw invalidParam('review', 'The review is decided already.');
        const actor = await actorFrom(options, ['reviewer']);
        const { reason: note, screening: vettingId } = options;
        await vettings.decide(found.orgId, { decision, vettingId, actor, note });
        const decided = await vettings.review(id);
        if (options.json === true) printJson(describeReview(decided));
        else printFields(rowOf(decided));
        if (decided.decision === null) process.stderr.write(SECOND_PERSON);
      }),
    );
}

const SECOND_PERSON =
  'The risk is high: the review stays open until someone else approves it too.\n';

interface DecideOptions extends ActOptions {
  reason: string;
  screening: string;
}

function namesOf({ names }: ListEntry): string[] {
  return names.map(({ name }) => name);
}

function printDeclaration(declaration: Declaration): void {
  const { country, industry, declaredBy, tradingNames, parties, statements } = declaration;
  printFields({
    country,
    industry,
    'declared by': declaredBy,
    'trading names': tradingNames.join(' · ') || null,
    'owners and directors':
      parties.map(({ role, name, country: code }) => `${name} (${role}, ${code})`).join(' · ') ||
      null,
    answers: Object.entries(statements)
      .map(([id, yes]) => `${id}=${yes ? 'yes' : 'no'}`)
      .join(' '),
  });
}

function shortList({ source, version }: Vetting['lists'][number]): string {
  return `${source} ${version.slice(0, 12)}`;
}

function screeningOf(vetting: RecordedVetting): object {
  const { id, cause, outcome, lists, reasons } = vetting;
  return { id, screened_at: time(vetting.screenedAt), cause, outcome, lists, reasons };
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
    risk: review.risk,
    'approved by': review.approvals.map(({ by }) => by).join(' · ') || null,
    decision: review.decision,
    reason: review.reason,
  };
}
