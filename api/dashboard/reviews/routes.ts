import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Applicant, RecordedVetting, Review } from '#shared/accounts/vetting.ts';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import type { ListVersion } from '#shared/accounts/sanctions/listed.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, doneOf } from '../forms.ts';
import {
  type FramedPage,
  isMemberOf,
  type PageExchange,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import { reviewPage, type ReviewParts, reviewsPage } from './page.ts';

const PAGE_LENGTH = 50;
/** Acts on an organisation that a reviewer is shown. */
const HISTORY_LENGTH = 15;

type OfReview = { Params: { id: string } };

const DONE: Readonly<Record<string, string>> = {
  approved: 'Review approved.',
  rejected: 'Review rejected.',
  first: 'Approval recorded. The review stays open until a second reviewer approves it.',
};

/** Reviews of applicants and of accounts that a list names: read by all who work for the service, decided by reviewers. */
export function reviewRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/reviews', SESSION, async (request, reply) => {
    const isOpen = askedFor(request, 'show') !== 'decided';
    const after = askedAfter(request, 'rev');
    const page = await deps.vettings.reviews({
      open: isOpen,
      limit: PAGE_LENGTH,
      order: isOpen ? 'asc' : 'desc',
      after,
    });
    return send(deps, [request, reply], 'Reviews', (frame) =>
      reviewsPage(frame, { page, after, isOpen }),
    );
  });
  app.get<OfReview>('/reviews/:id', SESSION, (request, reply) =>
    showReview(deps, [request, reply], {}),
  );
  app.post<OfReview>('/reviews/:id/decide', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const { id } = request.params;
    const review = await deps.vettings.review(id);
    const mayNot = whyNot(request, review);
    if (mayNot !== undefined) throw new PageError(403, 'You cannot decide this review', mayNot);
    const decision = form.text('decision');
    if (decision !== 'approved' && decision !== 'rejected') {
      throw new PageError(400, 'This could not be read', 'A review is approved or rejected.');
    }
    if (decision === 'approved') await confirmedForm(deps, request);
    const name = `${decision}-note`;
    try {
      // Of the review in the address, which may have been decided while another was opened.
      if (review.decision !== null) throw new Fault('invalid_account_state', ALREADY);
      await deps.vettings.decide(review.orgId, {
        decision,
        vettingId: form.text('screening') || null,
        // Operators see reviews, and decide none.
        actor: { ...staffActorOf(request), allowedBy: { staff: ['reviewer'] } },
        note: form.note(name, REASON_LENGTH_MAX),
      });
    } catch (error) {
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      const problem = PROBLEMS[error.code] ?? error.message;
      const parts = { open: decision, typed: form.text(name), problem };
      return showReview(deps, [request, reply], parts, error.status);
    }
    const isDecided = (await deps.vettings.review(id)).decision !== null;
    const done = isDecided ? decision : 'first';
    return seeOther(reply, `/dashboard/service/reviews/${id}?done=${done}`);
  });
}

const ALREADY = { message: 'This review has already been decided.' };

const PROBLEMS: Readonly<Record<string, string>> = {
  invalid_screening:
    'Nothing was decided: there is a newer screening since you opened this page. It is shown now; read it before you decide.',
  invalid_reason: 'Nothing was decided: enter a reason.',
};

function send(
  deps: DashboardDeps,
  exchange: PageExchange,
  title: string,
  body: FramedPage['body'],
  status = 200,
): Promise<FastifyReply> {
  return sendFramed(deps, exchange, { title, section: 'reviews', body, status });
}

async function showReview(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: Pick<ReviewParts, 'open' | 'typed' | 'problem'>,
  status = 200,
): Promise<FastifyReply> {
  const { vettings, accounts, sanctions, audit, persons } = deps;
  const review = await vettings.review((request.params as OfReview['Params']).id);
  const { orgId, vettingId } = review;
  const [account, declaration, vetting, applicant, current, lists, history] = await Promise.all([
    accounts.get(orgId),
    vettings.declaration(orgId),
    vettingId === null ? null : vettings.vetting(orgId, vettingId),
    vettings.applicant(orgId),
    sanctions.currentVersions(),
    sanctions.lists(),
    audit.list({ orgId, limit: HISTORY_LENGTH, order: 'desc' }),
  ]);
  const names = await persons.names([
    ...history.items.map(({ actorId }) => actorId),
    ...review.approvals.map(({ by }) => by),
    ...(review.decidedBy === null ? [] : [review.decidedBy]),
  ]);
  const parts: ReviewParts = {
    review,
    account,
    declaration,
    vetting,
    entries: vetting === null ? [] : await vettings.listEntries(vetting),
    lists,
    isStale: vetting !== null && isStale(vetting, applicant, current),
    history: history.items,
    names,
    mayNot: whyNot(request, review),
    ...doneOf(request, DONE, (act) => review.decision === (act === 'first' ? null : act)),
    ...told,
  };
  return send(deps, [request, reply], account.name, (frame) => reviewPage(frame, parts), status);
}

/** Whether this screening compared something else than what would be compared now. */
function isStale(
  { lists, declarationId, contractId, namesRevision }: RecordedVetting,
  applicant: Applicant | null,
  current: readonly ListVersion[],
): boolean {
  const keyOf = (versions: RecordedVetting['lists']): string =>
    versions
      .map(({ source, version }) => `${source} ${version}`)
      .toSorted()
      .join();
  return (
    keyOf(lists) !== keyOf(current) ||
    (applicant?.declarationId ?? null) !== (declarationId ?? null) ||
    (applicant?.contractId ?? null) !== (contractId ?? null) ||
    (applicant?.namesRevision ?? 0) > namesRevision
  );
}

/** Why this person does not decide: they are no reviewer, or belong to the one who is reviewed. */
function whyNot(request: FastifyRequest, { orgId }: Review): string | undefined {
  if (!request.visit.staff.includes('reviewer')) return 'Reviewers decide this. You can read it.';
  if (isMemberOf(request, orgId)) {
    return 'You are a member of this organisation, so another reviewer has to decide.';
  }
  return undefined;
}
