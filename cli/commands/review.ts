import type { Command } from 'commander';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { Declaration } from '#shared/accounts/account.ts';
import type { ListSource } from '#shared/accounts/sanctions/listed.ts';
import type { Review, Vetting } from '#shared/accounts/vetting.ts';
import { actorFrom, asOperator, type OperatorDeps } from '#cli/operator.ts';
import { plain, printFields, printJson, printTable, time, type Row } from '#cli/print.ts';

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
        const declaration = await vettings.declaration(found.orgId);
        const entries = vetting === null ? [] : await entriesOf(vettings, vetting);
        if (options.json === true) {
          printJson({ ...jsonOf(found), screening: vetting, declaration, list_entries: entries });
          return;
        }
        printFields({ ...rowOf(found), 'decided by': found.decidedBy, note: found.note });
        if (declaration !== null) printDeclaration(declaration);
        for (const { score, text } of vetting?.reasons ?? []) {
          process.stdout.write(`  ${score.toFixed(3)}  ${plain(text)}\n`);
        }
        for (const { entity, version, names, programme } of entries) {
          const list = `${entity}, version ${version.slice(0, 12)}, ${programme || 'no programme'}`;
          process.stdout.write(`${plain(`  list entry ${list}: ${names.join(' · ')}`)}\n`);
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

interface ListEntry {
  /** `source:id` */
  entity: string;
  /** Of the list that was compared. */
  version: string;
  kind: string | null;
  programme: string | null;
  names: string[];
}

/** The parties of the lists that the vetting's reasons name, with all their names. */
function entriesOf(vettings: OperatorDeps['vettings'], vetting: Vetting): Promise<ListEntry[]> {
  const entities = [...new Set(vetting.reasons.flatMap(({ entity }) => entity ?? []))];
  return Promise.all(
    entities.map(async (entity) => {
      const [source = '', ...rest] = entity.split(':');
      const list = vetting.lists.find((compared) => compared.source === source);
      const version = list?.version ?? '';
      const party = { source: source as ListSource, version, entityId: rest.join(':') };
      const names = await vettings.listEntry(party);
      return {
        entity,
        version,
        kind: names[0]?.kind ?? null,
        programme: names[0]?.programme ?? null,
        names: names.map(({ name }) => name),
      };
    }),
  );
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
