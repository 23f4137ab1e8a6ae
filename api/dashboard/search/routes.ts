import type { FastifyInstance } from 'fastify';
import { receiptIdNamed, requestIdNamed } from '#shared/kernel/answer-ids.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import { holdsWholeKey, withoutKeys } from '#shared/keys/format.ts';
import { displayText } from '#shared/keys/describe.ts';
import type { Membership } from '#shared/persons/roles.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor } from '../forms.ts';
import { seeOther, sendFramed, SESSION, wayInto } from '../guard.ts';
import { notFound } from '../page-error.ts';
import { pagesOfOrganisation, pagesOfStaff } from '../parts/layout.ts';
import { bestOf, partsOfKey, type Place, PLACES_SHOWN_MAX } from './find.ts';
import { QUESTION_CHARS_MAX, searchPage } from './page.ts';

/** Organisations of one person that are looked through: each costs a few statements. */
const ORGANISATIONS_MAX = 10;

/** The search of what a person may open, by name or id: an id leads to its page at once. */
export function searchRoutes(
  app: FastifyInstance,
  deps: DashboardDeps,
  docs: () => Promise<readonly Place[]>,
): void {
  app.get('/search', SESSION, async (request, reply) => {
    const asked = askedFor(request, 'q').slice(0, QUESTION_CHARS_MAX);
    const question = withoutKeys(asked);
    const named = askedFor(request, 'in');
    const { memberships, staff } = request.visit;
    const chosen = memberships.find(({ orgId }) => orgId === named);
    if (named !== '' && chosen === undefined) throw notFound();
    const isOpen = (each: Membership) => wayInto(each, request.visit) === undefined;
    const all = (chosen === undefined ? memberships : [chosen]).filter(isOpen);
    const open = all.slice(0, ORGANISATIONS_MAX);
    for (const membership of open) {
      const place = await placeOfId(deps, membership, question);
      if (place !== undefined) return seeOther(reply, `/dashboard/${membership.orgId}/${place}`);
    }
    const isOperator = chosen === undefined && staff.includes('operator');
    if (isOperator) {
      const place = await placeOfService(deps, question);
      if (place !== undefined) return seeOther(reply, `/dashboard/service/${place}`);
    }
    const looked = await Promise.all(open.map((each) => lookThrough(deps, each, question)));
    const groups = [
      ['Pages', bestOf([...open.flatMap(pagesOfOrganisation), ...pagesOfStaff(staff)], question)],
      ['Accounts', isOperator ? await accountsOf(deps, question) : []],
      ['Keys', looked.flatMap(({ keys }) => keys)],
      ['People', looked.flatMap(({ people }) => people)],
      ['Documentation', bestOf(await docs(), question)],
    ] as const;
    const single = open.length === 1 ? open[0] : undefined;
    if (single !== undefined) request.membership = single;
    return sendFramed(deps, [request, reply], {
      title: 'Search',
      body: () =>
        searchPage({
          question,
          organisation: single?.orgId,
          hadKey: holdsWholeKey(asked),
          groups,
          only: all.length > open.length ? open.map(({ orgName }) => orgName) : undefined,
        }),
    });
  });
}

/** The page, below that of the organisation, that an id or an address with one leads to; undefined for what is no id of it. */
async function placeOfId(
  deps: DashboardDeps,
  membership: Membership,
  question: string,
): Promise<string | undefined> {
  const id = question.slice(question.lastIndexOf('/') + 1);
  const { orgId } = membership;
  const isClosed = membership.orgState === 'closed';
  const receiptId = receiptIdNamed(id);
  if (receiptId !== undefined) {
    const requestId = receiptId.replace('rcpt_', 'req_');
    const isOfRequest = id !== receiptId && !isClosed;
    if (isOfRequest && (await deps.requests.get(orgId, requestId)) !== null)
      return `requests/${requestId}`;
    if ((await deps.ledger.receipt(orgId, receiptId)) !== null) return `receipts/${receiptId}`;
  }
  if (isId('exp', id)) {
    return (await deps.exports.exports.get(orgId, id)) === null ? undefined : `exports/${id}`;
  }
  if (isClosed) return undefined;
  if (isId('key', id)) return thereIs(deps.keys.get(orgId, id), `keys/${id}`);
  return undefined;
}

/** The page of the service that an id leads an operator to; undefined for what is no id of these. */
async function placeOfService(deps: DashboardDeps, question: string): Promise<string | undefined> {
  const id = question.slice(question.lastIndexOf('/') + 1);
  // That nothing is on record is said there too.
  if (receiptIdNamed(id) !== undefined) return `look-up?q=${requestIdNamed(id)}`;
  if (isId('org', id)) return thereIs(deps.accounts.get(id), `accounts/${id}`);
  return undefined;
}

/** The accounts whose page has these words, or the key that begins so: the newest. */
async function accountsOf({ accounts }: DashboardDeps, question: string): Promise<Place[]> {
  if (question === '') return [];
  const { items } = await accounts.list({
    limit: PLACES_SHOWN_MAX,
    order: 'desc',
    search: question,
  });
  return items.map(({ id, name }) => ({
    address: `/dashboard/service/accounts/${id}`,
    name,
    note: id,
  }));
}

/** The place of what is read, unless that is not there. */
async function thereIs(reading: Promise<unknown>, place: string): Promise<string | undefined> {
  try {
    await reading;
    return place;
  } catch (error) {
    if (error instanceof Fault && error.status === 404) return undefined;
    throw error;
  }
}

/** Keys and people of an organisation, which a closed one shows no more. */
async function lookThrough(
  deps: DashboardDeps,
  { orgId, orgState }: Membership,
  question: string,
): Promise<{ keys: Place[]; people: Place[] }> {
  if (orgState === 'closed' || question === '') return { keys: [], people: [] };
  const limit = PLACES_SHOWN_MAX;
  const [keys, people] = await Promise.all([
    deps.keys.search(orgId, { name: question, ...partsOfKey(question), limit }),
    deps.persons.searchMembers(orgId, question, limit),
  ]);
  return {
    keys: keys.map(({ id, name, display }) => ({
      address: `/dashboard/${orgId}/keys/${id}`,
      name,
      note: displayText(display),
    })),
    people: people.map(({ id, name, email, role }) => ({
      address: `/dashboard/${orgId}/team#${id}`,
      name,
      note: `${email}, ${role}`,
    })),
  };
}
