import type { Pool } from 'pg';
import type { Account } from '../account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { AccountRegistry, Applicant, Review, ScreeningRecord } from '../port-accounts.ts';
import type { Page } from '#shared/kernel/page.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { negotiatedLimitsOf, type AccountRow, type ReviewRow } from './schema.ts';

export const ACCOUNT_COLUMNS = `id, name, state, plan, requests_per_second, burst, requests_per_day,
  concurrent_streams, billing_name, billing_email, technical_name, technical_email, created_at,
  state_changed_at`;

export async function findAccount(client: Queryable, orgId: string): Promise<Account> {
  const { rows } = await client.query<AccountRow>(
    `select ${ACCOUNT_COLUMNS} from account where id = $1`,
    [orgId],
  );
  if (rows[0] === undefined) throw new Fault('organisation_not_found');
  return accountOf(rows[0]);
}

export async function listAccounts(
  pool: Pool,
  request: Parameters<AccountRegistry['list']>[0],
): Promise<Page<Account>> {
  if (request.after !== undefined && !isId('org', request.after)) {
    throw new Fault('invalid_after');
  }
  const descending = request.order === 'desc';
  const { rows } = await pool.query<AccountRow>(
    `select ${ACCOUNT_COLUMNS} from account
     where ($1::text is null or id ${descending ? '<' : '>'} $1)
       and ($2::text is null or state = $2)
     order by id ${descending ? 'desc' : 'asc'} limit $3`,
    [request.after ?? null, request.state ?? null, request.limit + 1],
  );
  return {
    items: rows.slice(0, request.limit).map(accountOf),
    hasMore: rows.length > request.limit,
  };
}

interface ApplicantRow {
  id: string;
  state: Applicant['state'];
  name: string;
  billing_name: string;
  technical_name: string;
  trading_names: string[];
  declared_by: string;
  country: string;
  industry: string;
  version: string;
  statements: Record<string, boolean>;
  dismissed: string[];
}

/** What screening compares. Null before there is a declaration. */
export async function findApplicant(pool: Pool, orgId: string): Promise<Applicant | null> {
  const { rows } = await pool.query<ApplicantRow>(
    `select a.id, a.state, a.name, a.billing_name, a.technical_name, d.trading_names, d.declared_by,
       d.country, d.industry, d.version, d.statements,
       array(select distinct found.match ->> 'entity' from review r
         join screening s on s.id = r.screening_id, jsonb_array_elements(s.reasons) as found (match)
         where r.org_id = a.id and r.decision = 'approved'
           and found.match ->> 'entity' is not null) as dismissed
     from account a
     join lateral (select * from declaration d where d.org_id = a.id
       order by d.id desc limit 1) d on true
     where a.id = $1`,
    [orgId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return {
    orgId: row.id,
    state: row.state,
    names: [row.name, ...row.trading_names],
    people: [...new Set([row.billing_name, row.technical_name, row.declared_by])],
    country: row.country,
    industry: row.industry,
    declarationVersion: row.version,
    statements: row.statements,
    dismissed: row.dismissed,
  };
}

/** Compares what was screened with what is current, so that nobody has to remember that a list was imported. */
export async function listScreeningDue(pool: Pool, limit: number): Promise<readonly string[]> {
  const { rows } = await pool.query<{ id: string }>(
    `with lists as (
       select coalesce(jsonb_agg(jsonb_build_object('source', source, 'version', version)
         order by source), '[]') as compared
       from sanctions_list where current)
     select a.id from account a, lists
     where a.state not in ('onboarding', 'rejected', 'closed')
       and (select s.lists from screening s where s.org_id = a.id order by s.sequence desc limit 1)
         is distinct from lists.compared
     order by a.id limit $1`,
    [limit],
  );
  return rows.map((row) => row.id);
}

const REVIEW = `select r.id, r.org_id, a.name as organisation_name, r.screening_id, r.reason,
  r.opened_at, r.decision, r.decided_by, r.decided_at, r.note
  from review r join account a on a.id = r.org_id`;

export async function listReviews(
  pool: Pool,
  request: Parameters<AccountRegistry['reviews']>[0],
): Promise<Page<Review>> {
  const { rows } = await pool.query<ReviewRow>(
    `${REVIEW} where ($1::text is null or r.id < $1)
       and ($2::boolean is null or (r.decision is null) = $2)
     order by r.id desc limit $3`,
    [request.after ?? null, request.open ?? null, request.limit + 1],
  );
  return {
    items: rows.slice(0, request.limit).map(reviewOf),
    hasMore: rows.length > request.limit,
  };
}

export async function findReview(pool: Pool, reviewId: string): Promise<Review> {
  const { rows } = await pool.query<ReviewRow>(`${REVIEW} where r.id = $1`, [reviewId]);
  if (rows[0] === undefined) throw new Fault('review_not_found');
  return reviewOf(rows[0]);
}

export async function findScreening(
  pool: Pool,
  orgId: string,
  screeningId: string | null,
): Promise<ScreeningRecord | null> {
  const { rows } = await pool.query<
    Pick<ScreeningRecord, 'cause' | 'outcome' | 'lists' | 'reasons'> & { duration_ms: number }
  >(
    `select cause, outcome, lists, reasons, duration_ms from screening
     where id = $1 and org_id = $2`,
    [screeningId, orgId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  const { duration_ms: durationMs, ...rest } = row;
  return { ...rest, durationMs };
}

export function accountOf(row: AccountRow): Account {
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    plan: row.plan,
    negotiatedLimits: negotiatedLimitsOf(row),
    billing: { name: row.billing_name, email: row.billing_email },
    technical: { name: row.technical_name, email: row.technical_email },
    createdAt: row.created_at.getTime(),
    stateChangedAt: row.state_changed_at.getTime(),
  };
}

function reviewOf(row: ReviewRow): Review {
  return {
    id: row.id,
    orgId: row.org_id,
    organisationName: row.organisation_name,
    screeningId: row.screening_id,
    reason: row.reason,
    openedAt: row.opened_at.getTime(),
    decision: row.decision,
    decidedBy: row.decided_by,
    decidedAt: row.decided_at?.getTime() ?? null,
    note: row.note,
  };
}
