import type { FastifyInstance, FastifyRequest } from 'fastify';
import { limitsOf } from '#shared/accounts/account.ts';
import { receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import { isId, timeOfId } from '#shared/kernel/ids.ts';
import { TAG_LENGTH_MAX } from '#shared/kernel/tags.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { receiptOf, type RequestRow, statusFilterOf } from '#shared/requests/row.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, askedForDay } from '../forms.ts';
import { seeOther, sendFramed, SESSION } from '../guard.ts';
import { keyNames } from '../keys/names.ts';
import { notFound } from '../page-error.ts';
import { type RequestSearch, requestsPage } from './page.ts';
import { type LimitsThen, requestPage } from './request.ts';

const PAGE_LENGTH = 25;
/** Addresses of receipts may be long. */
const NAME_LENGTH_MAX = 512;
/** Longer than any answer takes, in milliseconds. */
const SLOW_MAX = 86_400_000;

/** What became of the requests of an organisation: searched, filtered, read. */
export function requestPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/requests', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const find = askedFor(request, 'find').slice(0, NAME_LENGTH_MAX);
    const found = find === '' ? undefined : await placeOf(deps, orgId, find);
    if (found !== undefined) return seeOther(reply, `/dashboard/${orgId}/${found}`);
    const search = searchOf(request, find);
    const { first, last } = { first: askedForDay(search.from), last: askedForDay(search.to) };
    const span = {
      ...(first === undefined ? {} : { from: first }),
      ...(last === undefined ? {} : { to: last + DAY_MS }),
    };
    const asked = askedAfter(request, 'req');
    const isHere = asked !== undefined && (await deps.requests.get(orgId, asked)) !== null;
    const after = isHere ? asked : undefined;
    // One after the other: a page has one of the few connections that all pages have together.
    const page = await deps.requests.list({
      orgId,
      limit: PAGE_LENGTH,
      order: 'desc',
      status: statusFilterOf(search.status),
      code: search.code || undefined,
      model: search.model || undefined,
      region: search.region || undefined,
      key: search.key || undefined,
      tag: search.tag || undefined,
      atLeastMs: search.slow === '' ? undefined : Number(search.slow),
      after,
      ...span,
    });
    const failures = await deps.requests.failures(orgId, span);
    const keys = await keyNames(deps, orgId);
    const { tags } = await deps.accounts.get(orgId);
    const isLive = after === undefined && askedFor(request, 'live') === 'yes';
    const listed = { page, failures, search, after, isLive, tags, keys };
    const parts = { ...listed, notFound: find !== '' };
    return sendFramed(deps, [request, reply], {
      title: 'Requests',
      section: 'requests',
      body: (frame) => requestsPage(frame, parts),
    });
  });
  app.get<{ Params: { org: string; id: string } }>(
    '/requests/:id',
    SESSION,
    async (request, reply) => {
      const { orgId } = request.membership;
      const { id } = request.params;
      const row = await deps.requests.get(orgId, id);
      if (row === null) throw notFound();
      const receipt = receiptOf(row);
      const parts = {
        row,
        hasReceipt: receipt !== null && (await deps.ledger.receipt(orgId, receipt)) !== null,
        keys: await keyNames(deps, orgId),
        limits: await limitsAt(deps, row),
      };
      return sendFramed(deps, [request, reply], {
        title: `Request ${id}`,
        section: 'requests',
        body: (frame) => requestPage(frame, parts),
      });
    },
  );
}

/** What the organisation and the key may use, and when that was changed last since the request. */
async function limitsAt(
  { accounts, audit, keys }: DashboardDeps,
  { orgId, id, keyId }: RequestRow,
): Promise<LimitsThen> {
  const changes = [];
  for (const action of ['account.limits_set', 'account.plan_set'] as const) {
    const { items } = await audit.list({ orgId, action, limit: 1, order: 'desc' });
    changes.push(...items.map(({ at }) => at));
  }
  const last = Math.max(0, ...changes);
  // The record of a key that was revoked is deleted one day.
  const key = await keys.get(orgId, keyId).catch(() => null);
  return {
    limits: limitsOf(await accounts.get(orgId)),
    ofKey: key?.limit ?? null,
    changedAt: last > timeOfId(id) ? last : null,
  };
}

/** What the list is asked for; a filter that was changed by hand to what it cannot be asks for nothing. */
function searchOf(request: FastifyRequest, find: string): RequestSearch {
  const status = askedFor(request, 'status');
  const slow = askedFor(request, 'slow');
  return {
    find,
    status: statusFilterOf(status) === undefined ? '' : status,
    code: askedFor(request, 'code').slice(0, 128),
    model: askedFor(request, 'model').slice(0, 300),
    region: askedFor(request, 'region').slice(0, 64),
    key: askedFor(request, 'key').slice(0, 64),
    tag: askedFor(request, 'tag').slice(0, TAG_LENGTH_MAX),
    from: dayAsked(request, 'from'),
    to: dayAsked(request, 'to'),
    slow: /^\d{1,8}$/.test(slow) && Number(slow) <= SLOW_MAX ? slow : '',
  };
}

function dayAsked(request: FastifyRequest, name: string): string {
  const text = askedFor(request, name);
  return askedForDay(text) === undefined ? '' : text;
}

/**
 * The page, below that of the organisation, that an id leads to: of the request that has it, or that had this receipt or answer;
 * of the receipt, where that alone is left.
 */
async function placeOf(
  deps: DashboardDeps,
  orgId: string,
  name: string,
): Promise<string | undefined> {
  const receiptId = receiptIdNamed(name);
  const id = isId('req', name) ? name : receiptId?.replace('rcpt_', 'req_');
  if (id === undefined) return undefined;
  if ((await deps.requests.get(orgId, id)) !== null) return `requests/${id}`;
  if (receiptId === undefined || (await deps.ledger.receipt(orgId, receiptId)) === null) {
    return undefined;
  }
  return `receipts/${receiptId}`;
}
