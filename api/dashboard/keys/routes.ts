import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { limitsOf } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import type { KeyRequest } from '#shared/keys/rules.ts';
import { may } from '#shared/persons/roles.ts';
import { confirmedForm } from '../session/confirmation.ts';
import { shownOnce } from '../session/shown-once.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, askedForDay, doneOf } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type FramedPage,
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { HISTORY_LENGTH, type KeyActivity } from './activity.ts';
import {
  issuedPage,
  keyPage,
  type KeyParts,
  keysPage,
  newKeyPage,
  type NewKeyParts,
  REASONS,
  standsFor,
} from './page.ts';

const PAGE_LENGTH = 50;

const DONE: Readonly<Record<string, string>> = {
  issued:
    'The key was shown once and is not kept. If you did not store it, rotate it or create another.',
  revoked: 'Key revoked: requests with it are refused everywhere within a second.',
  leaked:
    'Key marked as leaked. It is refused everywhere within a second, and only support can restore it.',
  restored: 'Key restored. It works again.',
  renamed: 'Key renamed.',
};

/** A request below an organisation's address, and below a key's. */
type OfKey = { Params: { org: string; id: string } };

/** Keys of an organisation: read, create, rotate, revoke, restore. */
export function keyPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  readingRoutes(app, deps);
  creatingRoutes(app, deps);
  issuedRoute(app, deps);
  stateRoutes(app, deps);
}

function send(
  deps: DashboardDeps,
  exchange: PageExchange,
  title: string,
  body: FramedPage['body'],
  status = 200,
): Promise<FastifyReply> {
  return sendFramed(deps, exchange, { title, section: 'keys', body, status });
}

function readingRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/keys', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const after = askedAfter(request, 'key');
    const page = await deps.keys.list({ orgId, limit: PAGE_LENGTH, order: 'desc', after });
    const playgrounds = await deps.keys.playgrounds(orgId);
    return send(deps, [request, reply], 'Keys', (frame) =>
      keysPage(frame, page, { after, playgrounds }),
    );
  });
  app.get<OfKey>('/keys/:id', SESSION, (request, reply) => {
    const open = askedFor(request, 'do');
    return showKey(deps, [request, reply], { open });
  });
}

/** Draws the page of the key in the address. A key of another organisation is as none. */
async function showKey(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  parts: Pick<KeyParts, 'open' | 'problem'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const key = await deps.keys.get(orgId, (request.params as OfKey['Params']).id);
  const [predecessor, successor] = await Promise.all([
    predecessorOf(deps, key),
    deps.keys.successor(orgId, key.id),
  ]);
  const activity = await activityOf(deps, key, may(request.membership, 'read the audit log'));
  const done = doneOf(request, DONE, standsFor(key, deps.now()));
  return send(
    deps,
    [request, reply],
    key.name,
    (frame) => keyPage(frame, { key, predecessor, successor, activity, ...done, ...parts }),
    status,
  );
}

/** Days of use that a key's page shows, today included. */
const ACTIVITY_DAYS = 30;
/** Of its newest requests: enough to see what fails and where it is used. */
const REQUESTS_LOOKED_AT = 100;
/**
 * Its requests are looked for this long before its last use, and after, since that is noted late: all those of the organisation
 * in between are gone through, which over all that are kept took seconds, on the page by which a key is revoked.
 */
const LOOKED_AROUND_MS = DAY_MS;

/** One after the other: a page has one of the few connections that all pages have together. */
async function activityOf(
  deps: DashboardDeps,
  { orgId, id, lastUsedAt }: KeyRecord,
  readsAudit: boolean,
): Promise<KeyActivity> {
  const to = Math.floor(deps.now() / DAY_MS) * DAY_MS + DAY_MS;
  const range = { from: to - ACTIVITY_DAYS * DAY_MS, to };
  const report = await deps.usage.usage({ orgId, range, groupBy: ['day'], keyId: id });
  const { groups, total, currency } = report;
  const byModel = await deps.usage.usage({ orgId, range, groupBy: ['model'], keyId: id });
  const used = lastUsedAt ?? deps.now();
  const requests = await deps.requests.list({
    orgId,
    limit: REQUESTS_LOOKED_AT,
    order: 'desc',
    key: id,
    from: used - LOOKED_AROUND_MS,
    to: used + LOOKED_AROUND_MS,
  });
  const { items: births } = await deps.audit.list({ orgId, limit: 1, order: 'asc', subject: id });
  const acts = readsAudit
    ? await deps.audit.list({ orgId, limit: HISTORY_LENGTH, order: 'desc', subject: id })
    : undefined;
  return {
    keyId: id,
    isUsed: lastUsedAt !== null,
    byDay: { ...range, byDay: { groups } },
    byModel: byModel.groups ?? [],
    birth: births[0],
    total,
    currency,
    requests: requests.items,
    isNoneAmongMany: requests.isNoneAmongMany,
    acts,
    names: await deps.persons.names(
      [...births, ...(acts?.items ?? [])].map(({ actorId }) => actorId),
    ),
  };
}

/** Undefined when there is none, and when its record was purged. */
async function predecessorOf(
  deps: DashboardDeps,
  { orgId, predecessorId }: KeyRecord,
): Promise<KeyRecord | undefined> {
  if (predecessorId === null) return undefined;
  return deps.keys.get(orgId, predecessorId).catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'key_not_found') return undefined;
    throw error;
  });
}

function creatingRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const form = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: Omit<NewKeyParts, 'account' | 'limits'>,
    status = 200,
  ): Promise<FastifyReply> => {
    const account = await deps.accounts.get(request.membership.orgId);
    const limits = limitsOf(account);
    const body: FramedPage['body'] = (frame) => newKeyPage(frame, { account, limits, ...parts });
    return send(deps, [request, reply], 'Create a key', body, status);
  };
  app.get('/keys/new', SESSION, (request, reply) => {
    demandRight(request.membership, 'issue keys');
    return form(request, reply, {});
  });
  app.post('/keys', SESSION, async (request, reply) => {
    demandRight(request.membership, 'issue keys');
    const fields = await confirmedForm(deps, request);
    const { orgId } = request.membership;
    const [name, expires, scopes] = [
      fields.text('name'),
      fields.text('expires'),
      fields.all('scope'),
    ];
    const [rate, burst] = [fields.text('rate'), fields.text('burst')];
    try {
      const grant = { name, scopes, expiresAt: endOfDay(expires), limit: limitFrom(rate, burst) };
      const issued = await deps.keys.issue(orgId, grant, actorOf(request));
      return showIssued(deps, [request, reply], issued);
    } catch (error) {
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      const problem = { field: FIELD_OF[error.code] ?? null, message: error.message };
      const typed = { name, expires, scopes, rate, burst };
      return form(request, reply, { ...typed, problem }, error.status);
    }
  });
  app.post<OfKey>('/keys/:id/rotate', SESSION, async (request, reply) => {
    demandRight(request.membership, 'issue keys');
    await confirmedForm(deps, request);
    const { orgId } = request.membership;
    try {
      const issued = await deps.keys.rotate(orgId, request.params.id, {}, actorOf(request));
      return showIssued(deps, [request, reply], issued);
    } catch (error) {
      return refused(deps, [request, reply], 'rotate', error);
    }
  });
}

/** The field of the form that a refusal is about. */
const FIELD_OF: Readonly<Record<string, string>> = {
  invalid_name: 'name',
  invalid_scope: 'scope',
  invalid_expiry: 'expires',
  invalid_rate_limit: 'rate',
};

/** None when neither is typed; what is no whole number is refused as any other limit that cannot be. */
function limitFrom(rate: string, burst: string): NonNullable<KeyRequest['limit']> | null {
  if (rate === '' && burst === '') return null;
  return {
    requestsPerSecond: Number(rate),
    ...(burst === '' ? {} : { burst: Number(burst) }),
  };
}

/** The end of a UTC day, null when none is named, and a time that no rule takes when it is not a day. */
function endOfDay(text: string): number | null {
  if (text === '') return null;
  return (askedForDay(text) ?? Number.NaN) + DAY_MS;
}

const ISSUED = shownOnce('docket_issued');

/** The address of the page that shows a new key once. */
const issuedAddress = (orgId: string, id: string): string =>
  `/dashboard/${orgId}/keys/${id}/issued`;

/** Sends on to the page of a new key, so that a reload of it issues no other. The key itself goes along, sealed. */
function showIssued(
  deps: DashboardDeps,
  exchange: PageExchange,
  { key, plaintext }: { key: KeyRecord; plaintext: string },
): FastifyReply {
  const shown = { address: issuedAddress(key.orgId, key.id), id: key.id };
  return ISSUED.send(deps, exchange, shown, plaintext);
}

/** The page that shows a new key. The second time it has nothing to show, and leads to the key. */
function issuedRoute(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<OfKey>('/keys/:id/issued', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const key = await deps.keys.get(orgId, request.params.id);
    const shown = { address: issuedAddress(orgId, key.id), id: key.id };
    const plaintext = ISSUED.take(deps, [request, reply], shown);
    if (plaintext === null)
      return seeOther(reply, `/dashboard/${orgId}/keys/${key.id}?done=issued`);
    const predecessor = await predecessorOf(deps, key);
    const parts = {
      key,
      plaintext,
      ...(predecessor === undefined ? {} : { predecessor }),
      baseUrl: `${new URL(deps.publicUrl).origin}/v1`,
      model: deps.exampleModel(),
    };
    return sendFramed(deps, [request, reply], {
      title: key.name,
      section: 'keys',
      showsSecret: true,
      body: (frame) => issuedPage(frame, parts),
    });
  });
}

function stateRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.post<OfKey>('/keys/:id/revoke', SESSION, async (request, reply) => {
    demandRight(request.membership, 'revoke keys');
    const fields = await sessionForm(deps, request);
    const { orgId } = request.membership;
    const { id } = request.params;
    const [chosen] = REASONS.find(([value]) => value === fields.text('why')) ?? REASONS[0]!;
    const leaked = fields.text('leaked') === 'yes';
    const said = leaked ? '' : chosen;
    const note = fields.note('note');
    try {
      const reason = [said, note].filter((text) => text !== '').join(': ') || undefined;
      await deps.keys.revoke(orgId, id, actorOf(request), { reason, leaked });
    } catch (error) {
      return refused(deps, [request, reply], 'revoke', error);
    }
    // Of a rotation, back to where it stands; at another key's address there is none.
    const rotated = fields.text('rotation');
    const page = isId('key', rotated) ? `${rotated}/rotation` : id;
    const done = leaked ? 'leaked' : 'revoked';
    return seeOther(reply, `/dashboard/${orgId}/keys/${page}?done=${done}`);
  });
  app.post<OfKey>('/keys/:id/rename', SESSION, async (request, reply) => {
    demandRight(request.membership, 'issue keys');
    const fields = await sessionForm(deps, request);
    const { orgId } = request.membership;
    const { id } = request.params;
    try {
      await deps.keys.rename(orgId, id, fields.text('name'), actorOf(request));
    } catch (error) {
      return refused(deps, [request, reply], 'rename', error);
    }
    return seeOther(reply, `/dashboard/${orgId}/keys/${id}?done=renamed`);
  });
  app.post<OfKey>('/keys/:id/restore', SESSION, async (request, reply) => {
    demandRight(request.membership, 'issue keys');
    await confirmedForm(deps, request);
    const { orgId } = request.membership;
    const { id } = request.params;
    try {
      await deps.keys.restore(orgId, id, actorOf(request));
    } catch (error) {
      return refused(deps, [request, reply], 'restore', error);
    }
    return seeOther(reply, `/dashboard/${orgId}/keys/${id}?done=restored`);
  });
}

/** Shows the key's page with why an act was refused. What is no refusal, or about another's key, is thrown on. */
function refused(
  deps: DashboardDeps,
  exchange: PageExchange,
  act: string,
  error: unknown,
): Promise<FastifyReply> {
  const { message, status } = refusalOf(error);
  return showKey(deps, exchange, { open: act, problem: message }, status);
}
