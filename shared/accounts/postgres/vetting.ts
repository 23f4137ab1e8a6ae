import { sql, type Selectable } from 'kysely';
import type { Pool } from 'pg';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { Account, AccountState, Declaration } from '../account.ts';
import type { Actor } from '../audit/entry.ts';
import {
  actOfDecision,
  checkDecision,
  consequenceOf,
  isLastApproval,
  riskOf,
  summaryOf,
  VETTED_STATES,
  type Applicant,
  type Approval,
  type Decision,
  type RecordedVetting,
  type Review,
  type Vetting,
} from '../vetting.ts';
import type { DismissedMatch } from '../sanctions/assess.ts';
import type { ListSource, PartyKind } from '../sanctions/listed.ts';
import { act, holdAccount, type HeldAccount } from './accounts.ts';
import { appendAudit } from './audit.ts';

/** The actor of what follows from a vetting. The audit log has this older name. */
const VETTER: Actor = { kind: 'system', id: 'screening' };

/** A party of a list that was met, as the version says it that was compared. */
export interface ListEntry {
  /** `source:id` */
  entity: string;
  /** Of the list. */
  version: string;
  kind: PartyKind | null;
  programme: string | null;
  names: readonly { name: string; weak: boolean }[];
}

export type Vettings = ReturnType<typeof createVettings>;

/** Vettings and the reviews that follow from them, in PostgreSQL. Their tables are `screening` and `review`. */
export function createVettings(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    /** What a vetting compares; null before there is a declaration. */
    applicant: (orgId: string): Promise<Applicant | null> => findApplicant(pool, orgId),

    /**
     * Ids of at most `limit` accounts whose latest vetting did not compare exactly the current lists, or not the
     * declaration and contract as they are now: new applicants, and everyone after an import.
     */
    async due(limit: number): Promise<string[]> {
      const rows = await queryRows(pool, FIND_DUE, [VETTED_STATES, limit]);
      return rows.map(({ id }) => id);
    },

    /** Accounts that are compared with the lists, in the order of their ids, behind one of them. */
    async vetted(after: string | undefined, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('account')
        .select('id')
        .where('state', 'in', VETTED_STATES)
        .where('id', '>', after ?? '')
        .orderBy('id')
        .limit(limit)
        .execute();
      return rows.map(({ id }) => id);
    },

    /** Records a vetting and draws its consequence in the same transaction, so that none is ever without the other. */
    record: (orgId: string, vetting: Vetting): Promise<Account> =>
      inTransaction(pool, async (client) =>
        recordVetting(await holdAccount(client, surroundings, orgId), vetting),
      ),

    /** A vetting as it was recorded; null when there is none. */
    async vetting(orgId: string, vettingId: string): Promise<RecordedVetting | null> {
      const row = await db
        .selectFrom('screening')
        .selectAll()
        .where('id', '=', vettingId)
        .where('org_id', '=', orgId)
        .executeTakeFirst();
      return row === undefined
        ? null
        : { ...vettingOf(row), id: row.id, screenedAt: row.screened_at.getTime() };
    },

    /** The declaration as it was corrected last, for the person who reviews; null before there is one. */
    async declaration(orgId: string): Promise<Declaration | null> {
      const row = await db
        .selectFrom('declaration')
        .selectAll()
        .where('org_id', '=', orgId)
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      if (row === undefined) return null;
      return {
        version: row.version,
        statements: row.statements as Declaration['statements'],
        country: row.country,
        industry: row.industry,
        tradingNames: row.trading_names,
        parties: row.parties as Declaration['parties'],
        declaredBy: row.declared_by,
      };
    },

    /** The parties of lists that the reasons of a vetting name, with all their names, in the versions that it compared. */
    listEntries: (vetting: Vetting): Promise<ListEntry[]> => findListEntries(pool, vetting),

    /** Reviews by age. */
    async reviews(request: PageRequest & { open?: boolean }): Promise<Page<Review>> {
      let query = reviewsOn(pool);
      if (request.open !== undefined) {
        query = query.where('r.decision', request.open ? 'is' : 'is not', null);
      }
      const rows = await keyset(query, 'r.id', request).execute();
      return pageOf(rows, request, reviewOf);
    },

    async review(reviewId: string): Promise<Review> {
      const row = await reviewsOn(pool).where('r.id', '=', reviewId).executeTakeFirst();
      if (row === undefined) throw new Fault('review_not_found');
      return reviewOf(row);
    },

    /** The review that waits for a person; null when none does. */
    async openReview(orgId: string): Promise<Review | null> {
      const open = reviewsOn(pool).where('r.org_id', '=', orgId).where('r.decision', 'is', null);
      const row = await open.executeTakeFirst();
      return row === undefined ? null : reviewOf(row);
    },

    /**
     * Decides the open review, and the account with it: in_review → approved or rejected. `vettingId` is the vetting
     * that the person has looked at: `invalid_screening` when the review shows another by now. Of two that have to approve
     * the first is noted, and the review stays open.
     */
    async decide(orgId: string, verdict: ReviewVerdict): Promise<Account> {
      checkDecision(verdict.actor, verdict.note);
      return inTransaction(pool, async (client) =>
        decideReview(await holdAccount(client, surroundings, orgId), verdict),
      );
    },
  };
}

const FIND_DUE = statement(
  { id: 'text' },
  `select id from account where state = any($1) and not account_vetting_is_current(id)
   order by id limit $2`,
);

async function recordVetting(held: HeldAccount, vetting: Vetting): Promise<Account> {
  if (!VETTED_STATES.includes(held.account.state)) return held.account;
  const vettingId = await insertVetting(held, vetting);
  const vetted = await takeNote(held, vettingId, vetting);
  const consequence = consequenceOf(vetted.account.state, vetting);
  const reason = summaryOf(vetting);
  const reviewId = consequence.opensReview
    ? await openReview(held, vettingId, reason)
    : await renewReview(held, vettingId, vetting.outcome === 'clear' ? NOW_CLEAR : reason);
  if (consequence.act === null) return vetted.account;
  const subject = consequence.act === 'refer' ? reviewId! : vettingId;
  const why = consequence.act === 'clear' ? {} : { reason };
  return (await act(vetted, consequence.act, { actor: VETTER, subject, ...why })).account;
}

/** A vetting is a step of an applicant's way, and an entry in the audit log of every other account. */
async function takeNote(
  held: HeldAccount,
  vettingId: string,
  { outcome, cause }: Vetting,
): Promise<HeldAccount> {
  const noted = { actor: VETTER, subject: vettingId, details: { outcome, cause } };
  if (held.account.state === 'declared') return act(held, 'record_vetting', noted);
  await appendAudit(held.client, held.surroundings, {
    orgId: held.account.id,
    action: 'account.screened',
    ...noted,
  });
  return held;
}

async function insertVetting(held: HeldAccount, vetting: Vetting): Promise<string> {
  const { client, surroundings, account } = held;
  const id = surroundings.newId('scr');
  await queriesOn(client)
    .insertInto('screening')
    .values({
      id,
      org_id: account.id,
      cause: vetting.cause,
      outcome: vetting.outcome,
      lists: JSON.stringify(vetting.lists),
      declaration_id: vetting.declarationId ?? null,
      contract_id: vetting.contractId ?? null,
      names_revision: vetting.namesRevision,
      reasons: JSON.stringify(vetting.reasons),
      duration_ms: Math.round(vetting.durationMs),
      screened_at: new Date(surroundings.now()),
    })
    .execute();
  return id;
}

const NOW_CLEAR = 'A later screening found nothing.';

/** Has the open review show this vetting, whether it found something or not; the log has those before. Null when none is open. */
async function renewReview(
  { client, account }: HeldAccount,
  vettingId: string,
  reason: string,
): Promise<string | null> {
  const open = await queriesOn(client)
    .updateTable('review')
    .set({ screening_id: vettingId, reason })
    .where('org_id', '=', account.id)
    .where('decision', 'is', null)
    .returning('id')
    .executeTakeFirst();
  return open?.id ?? null;
}

/** Opens a review, unless one is open already, which then shows this vetting. */
async function openReview(held: HeldAccount, vettingId: string, reason: string): Promise<string> {
  const open = await renewReview(held, vettingId, reason);
  if (open !== null) return open;
  const { client, surroundings, account } = held;
  const id = surroundings.newId('rev');
  await queriesOn(client)
    .insertInto('review')
    .values({
      id,
      org_id: account.id,
      screening_id: vettingId,
      reason,
      opened_at: new Date(surroundings.now()),
    })
    .execute();
  return id;
}

/** What a person decided, and what they had before them. */
export interface ReviewVerdict {
  decision: Decision;
  vettingId: string | null;
  actor: Actor;
  note: string;
}

async function decideReview(
  held: HeldAccount,
  { decision, vettingId, actor, note }: ReviewVerdict,
): Promise<Account> {
  const { client, surroundings, account } = held;
  const db = queriesOn(client);
  // The account is held, so nothing else decides or renews this review meanwhile.
  const review = await db
    .selectFrom('review as r')
    .leftJoin('screening as s', 's.id', 'r.screening_id')
    .select(['r.id', 'r.screening_id', 's.outcome', 's.lists', 's.reasons', 's.screened_at'])
    .select(APPROVALS)
    .where('r.org_id', '=', account.id)
    .where('r.decision', 'is', null)
    .executeTakeFirst();
  if (review === undefined)
    throw new Fault('invalid_account_state', { message: 'No review is open.' });
  if (review.screening_id !== vettingId) {
    throw invalidParam(
      'screening',
      `The review shows another screening, ${review.screening_id ?? 'none'}: look at it with docket review show ${review.id}, and name what you have seen.`,
    );
  }
  const lists = (review.lists ?? []) as Vetting['lists'];
  const reasons = (review.reasons ?? []) as Vetting['reasons'];
  const seen = {
    decision,
    screening: vettingId,
    screened_at: review.screened_at?.toISOString() ?? null,
    outcome: review.outcome,
    score: reasons.reduce<number | null>((most, { score }) => Math.max(most ?? 0, score), null),
    lists: lists.map(({ source, version }) => `${source}:${version}`),
  };
  const decided = { actor, subject: review.id, reason: note, details: seen };
  if (decision === 'approved' && vettingId !== null && review.outcome !== null) {
    const risk = riskOf({ outcome: review.outcome, reasons });
    if (!isLastApproval(risk, review.approvals, actor)) {
      await db
        .insertInto('review_approval')
        .values({
          review_id: review.id,
          screening_id: vettingId,
          approved_by: actor.id,
          approved_at: new Date(surroundings.now()),
          note,
        })
        .execute();
      const action = 'review.approved_once';
      await appendAudit(client, surroundings, { orgId: account.id, action, ...decided });
      return account;
    }
  }
  await db
    .updateTable('review')
    .set({ decision, decided_by: actor.id, decided_at: new Date(surroundings.now()), note })
    .where('id', '=', review.id)
    .execute();
  const name = actOfDecision(account.state, decision);
  if (name !== null) return (await act(held, name, decided)).account;
  await appendAudit(client, surroundings, {
    orgId: account.id,
    action: 'review.decided',
    ...decided,
  });
  return account;
}

async function findApplicant(pool: Pool, orgId: string): Promise<Applicant | null> {
  const row = await queriesOn(pool)
    .selectFrom('account as a')
    .innerJoin('declaration as d', 'd.org_id', 'a.id')
    .selectAll('d')
    .select(['a.state', 'a.name', 'a.billing_name', 'a.technical_name', 'a.names_revision'])
    .select((eb) => {
      const contract = eb
        .selectFrom('service_contract as c')
        .whereRef('c.org_id', '=', 'a.id')
        .orderBy('c.id', 'desc')
        .limit(1);
      return [
        contract.select('c.id').as('contract_id'),
        contract.select('c.signatory').as('signatory'),
      ];
    })
    .where('a.id', '=', orgId)
    .orderBy('d.id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return null;
  const parties = row.parties as Declaration['parties'];
  return {
    orgId,
    state: row.state,
    declarationId: row.id,
    contractId: row.contract_id,
    namesRevision: row.names_revision,
    // An owner may be a firm, so those names are compared with every kind of listed party.
    names: [row.name, ...row.trading_names, ...parties.map(({ name }) => name)],
    people: [
      ...new Set([
        row.billing_name,
        row.technical_name,
        row.declared_by,
        ...(row.signatory === null ? [] : [row.signatory]),
      ]),
    ],
    countries: [row.country, ...parties.map(({ country }) => country)],
    industry: row.industry,
    declarationVersion: row.version,
    statements: row.statements as Declaration['statements'],
    dismissed: await findDismissed(pool, orgId),
  };
}

/** The matches that a review has found to be of others: those of vettings after which it approved the account. */
async function findDismissed(pool: Pool, orgId: string): Promise<DismissedMatch[]> {
  const approved = await queriesOn(pool)
    .selectFrom('review as r')
    .innerJoin('screening as s', 's.id', 'r.screening_id')
    .selectAll('s')
    .where('r.org_id', '=', orgId)
    .where('r.decision', '=', 'approved')
    .execute();
  const reasons = approved.flatMap((row) => vettingOf(row).reasons);
  return reasons.flatMap(({ entity, name, score }) =>
    entity === undefined || name === undefined ? [] : { entity, name, score },
  );
}

function vettingOf(row: Selectable<Database['screening']>): Vetting {
  return {
    cause: row.cause,
    outcome: row.outcome,
    lists: row.lists as Vetting['lists'],
    reasons: row.reasons as Vetting['reasons'],
    durationMs: row.duration_ms,
    declarationId: row.declaration_id,
    contractId: row.contract_id,
    namesRevision: row.names_revision,
  };
}

/** Approvals of the screening that a review `r` shows. */
const APPROVALS = sql<Approval[]>`(
  select coalesce(
    json_agg(
      json_build_object(
        'by', v.approved_by, 'at', (extract(epoch from v.approved_at) * 1000)::bigint, 'note', v.note
      ) order by v.approved_at, v.approved_by
    ),
    '[]'
  )
  from review_approval v
  where v.review_id = r.id and v.screening_id = r.screening_id
)`.as('approvals');

async function findListEntries(pool: Pool, { reasons, lists }: Vetting): Promise<ListEntry[]> {
  const entities = [...new Set(reasons.flatMap(({ entity }) => entity ?? []))];
  if (entities.length === 0) return [];
  const parties = entities.map((entity) => {
    const colon = entity.indexOf(':');
    const source = entity.slice(0, colon) as ListSource;
    const version = lists.find((compared) => compared.source === source)?.version ?? '';
    return { entity, source, version, entityId: entity.slice(colon + 1) };
  });
  const rows = await queriesOn(pool)
    .selectFrom('sanctions_list as l')
    .innerJoin('sanctions_name as n', 'n.list_id', 'l.id')
    .select(['l.source', 'n.entity_id', 'n.name', 'n.kind', 'n.weak', 'n.programme'])
    .where((eb) =>
      eb.or(
        parties.map(({ source, version, entityId }) =>
          eb.and({ 'l.source': source, 'l.version': version, 'n.entity_id': entityId }),
        ),
      ),
    )
    .orderBy('n.ordinal')
    .execute();
  return parties.map(({ entity, version }) => {
    const own = rows.filter((row) => `${row.source}:${row.entity_id}` === entity);
    return {
      entity,
      version,
      kind: own[0]?.kind ?? null,
      programme: own[0]?.programme ?? null,
      names: own.map(({ name, weak }) => ({ name, weak })),
    };
  });
}

function reviewsOn(pool: Pool) {
  return queriesOn(pool)
    .selectFrom('review as r')
    .innerJoin('account as a', 'a.id', 'r.org_id')
    .leftJoin('screening as s', 's.id', 'r.screening_id')
    .selectAll('r')
    .select(['a.name as organisation_name', 'a.state as account_state', 's.outcome', 's.reasons'])
    .select(APPROVALS);
}

type ReviewRow = Selectable<Database['review']> & {
  organisation_name: string;
  account_state: AccountState;
  outcome: Vetting['outcome'] | null;
  reasons: unknown;
  approvals: Approval[];
};

function reviewOf(row: ReviewRow): Review {
  const reasons = (row.reasons ?? []) as Vetting['reasons'];
  return {
    id: row.id,
    orgId: row.org_id,
    organisationName: row.organisation_name,
    accountState: row.account_state,
    vettingId: row.screening_id,
    risk: row.outcome === null ? 'normal' : riskOf({ outcome: row.outcome, reasons }),
    reason: row.reason,
    openedAt: row.opened_at.getTime(),
    approvals: row.approvals,
    decision: row.decision,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at?.getTime() ?? null,
    note: row.note,
  };
}
