import type { PoolClient } from 'pg';
import type { Account } from '../account.ts';
import type { Actor } from '../audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { ScreeningRecord } from '../port-accounts.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { act, holdAccount, type HeldAccount } from './act.ts';
import { appendAudit } from './audit-append.ts';

const SCREENING: Actor = { kind: 'system', id: 'screening' };

/** Stores a screening and draws its consequence in the same transaction, so that none is ever without the other. */
export async function recordScreening(
  client: PoolClient,
  surroundings: Surroundings,
  orgId: string,
  screening: ScreeningRecord,
): Promise<Account> {
  const held = await holdAccount(client, surroundings, orgId);
  // Before there is a declaration there is nothing to compare, and after the end nothing to decide.
  if (['onboarding', 'rejected', 'closed'].includes(held.account.state)) return held.account;
  const screeningId = await insertScreening(held, screening);
  const details = { outcome: screening.outcome, cause: screening.cause };
  if (held.account.state === 'declared') {
    const screened = await act(held, 'record_screening', {
      actor: SCREENING,
      subject: screeningId,
      details,
    });
    return concludeOnboarding(screened, screeningId, screening);
  }
  await appendAudit(client, surroundings, {
    orgId,
    action: 'account.screened',
    actor: SCREENING,
    subject: screeningId,
    details,
  });
  if (screening.outcome === 'hit') return concludeHit(held, screeningId, screening);
  // A resemblance among those already in is a question to a person, not a reason to cut anyone off.
  if (screening.reasons.some(({ kind }) => kind === 'list_match')) {
    await openReview(held, screeningId, summaryOf(screening));
  }
  return held.account;
}

async function concludeOnboarding(
  held: HeldAccount,
  screeningId: string,
  screening: ScreeningRecord,
): Promise<Account> {
  if (screening.outcome === 'clear') {
    const approved = await act(held, 'clear', { actor: SCREENING, subject: screeningId });
    return approved.account;
  }
  return refer(held, screeningId, summaryOf(screening));
}

/** A listed name among those who are already in: a person decides, and an active account waits suspended. */
async function concludeHit(
  held: HeldAccount,
  screeningId: string,
  screening: ScreeningRecord,
): Promise<Account> {
  const reason = summaryOf(screening);
  const { state } = held.account;
  if (state === 'approved' || state === 'contracted') return refer(held, screeningId, reason);
  await openReview(held, screeningId, reason);
  if (state !== 'active') return held.account;
  const suspended = await act(held, 'suspend', { actor: SCREENING, subject: screeningId, reason });
  return suspended.account;
}

async function refer(held: HeldAccount, screeningId: string, reason: string): Promise<Account> {
  const reviewId = await openReview(held, screeningId, reason);
  const referred = await act(held, 'refer', { actor: SCREENING, subject: reviewId, reason });
  return referred.account;
}

/** Opens a review, or adds this screening's reasons to the one that is open already. */
async function openReview(held: HeldAccount, screeningId: string, reason: string): Promise<string> {
  const { client, surroundings, account } = held;
  const { rows: open } = await client.query<{ id: string }>(
    `update review set screening_id = $2, reason = left(reason || ' · ' || $3, 2000)
     where org_id = $1 and decision is null returning id`,
    [account.id, screeningId, reason],
  );
  if (open[0] !== undefined) return open[0].id;
  const id = surroundings.newId('rev');
  await client.query(
    `insert into review (id, org_id, screening_id, reason, opened_at)
     values ($1, $2, $3, $4, $5)`,
    [id, account.id, screeningId, reason, new Date(surroundings.now())],
  );
  return id;
}

async function insertScreening(held: HeldAccount, screening: ScreeningRecord): Promise<string> {
  const id = held.surroundings.newId('scr');
  await held.client.query(
    `insert into screening (id, org_id, cause, outcome, lists, reasons, duration_ms, screened_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      id,
      held.account.id,
      screening.cause,
      screening.outcome,
      JSON.stringify(screening.lists),
      JSON.stringify(screening.reasons),
      Math.round(screening.durationMs),
      new Date(held.surroundings.now()),
    ],
  );
  return id;
}

/** The open review's decision. In review, the account follows it; a suspended one waits for its reinstatement. */
export async function decideReview(
  client: PoolClient,
  surroundings: Surroundings,
  decision: {
    orgId: string;
    verdict: 'approved' | 'rejected';
    actor: Actor;
    note: string;
  },
): Promise<Account> {
  const { orgId, verdict, actor, note } = decision;
  if (actor.kind !== 'operator') {
    throw new Fault('invalid_actor', {
      message: 'Reviews are decided by operators.',
      param: 'actor',
    });
  }
  if (note.trim() === '') {
    throw new Fault('invalid_reason', { message: 'A reason must be given.' });
  }
  const held = await holdAccount(client, surroundings, orgId);
  const { rows } = await client.query<{ id: string }>(
    `update review set decision = $2, decided_by = $3, decided_at = $4, note = $5
     where org_id = $1 and decision is null returning id`,
    [orgId, verdict, actor.id, new Date(surroundings.now()), note],
  );
  const review = rows[0];
  if (review === undefined)
    throw new Fault('invalid_account_state', { message: 'No review is open.' });
  if (held.account.state === 'in_review') {
    const name = verdict === 'approved' ? 'approve' : 'reject';
    const decided = await act(held, name, { actor, reason: note, subject: review.id });
    return decided.account;
  }
  await appendAudit(client, surroundings, {
    orgId,
    action: 'review.decided',
    actor,
    subject: review.id,
    reason: note,
    details: { decision: verdict },
  });
  return held.account;
}

/** One sentence for whoever opens the review; the details are with the screening. */
function summaryOf(screening: ScreeningRecord): string {
  const first = screening.reasons[0]?.text ?? 'The screening was not clear.';
  const more = screening.reasons.length - 1;
  return (more > 0 ? `${first} (and ${more} more)` : first).slice(0, 500);
}
