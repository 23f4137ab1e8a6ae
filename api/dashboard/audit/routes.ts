import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type AuditAction, isAuditAction } from '#shared/accounts/audit/entry.ts';
import type { AuditPageRequest } from '#shared/accounts/postgres/audit.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, askedForDay } from '../forms.ts';
import { CSV_TYPE, demandRight, sendFile, sendFramed, SESSION } from '../guard.ts';
import { ListFiles } from '../parts/list-files.ts';
import { csvOf, jsonOf } from './files.ts';
import { notFound } from '../page-error.ts';
import { headOf } from '../parts/signed-head.ts';
import { type AuditFilters, auditPage } from './page.ts';

const PAGE_LENGTH = 50;
/** Entries of one file, newest first: years of most organisations, and a few megabytes. */
const CSV_ENTRIES_MAX = 10_000;
/** Of a file that holds the whole log, to be checked. */
const JSON_ENTRIES_MAX = 100_000;

/** What was done in an organisation. */
export function auditRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const files = new ListFiles((asked: AuditPageRequest) => deps.audit.list(asked));
  app.get('/audit-log', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const after = askedAfter(request, 'aud');
    const filters = askedFilters(request);
    const wanted = wantedOf(orgId, filters);
    const page = await deps.audit.list({ ...wanted, limit: PAGE_LENGTH, after });
    const members = await deps.persons.members(orgId);
    if (page.items.length === 0) await demandKnown(deps, wanted, members);
    const [names, signed, anchored] = await Promise.all([
      deps.persons.names([...page.items.map(({ actorId }) => actorId), filters.actor]),
      deps.auditCheckpoint(orgId),
      deps.anchoredAudit(orgId),
    ]);
    const head = signed === null ? undefined : headOf(signed);
    return sendFramed(deps, [request, reply], {
      title: 'Audit log',
      section: 'audit-log',
      body: (frame) => auditPage(frame, { page, names, members, filters, after, head, anchored }),
    });
  });
  app.get('/audit-log/checkpoint.txt', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const content = await deps.auditCheckpoint(request.membership.orgId);
    if (content === null) throw notFound();
    const name = 'audit-checkpoint.txt';
    return sendFile(reply, { name, type: 'text/plain; charset=utf-8', content });
  });
  app.get('/audit-log/anchor.json', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const proof = await deps.auditAnchor(request.membership.orgId);
    if (proof === null) throw notFound();
    const content = formatAnchorProof(proof);
    return sendFile(reply, { name: 'audit-anchor.json', type: 'application/json', content });
  });
  app.get('/audit-log.json', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const whole = { rowsMax: JSON_ENTRIES_MAX, asked: { orgId, order: 'asc' as const } };
    const content = await files.text(reply.raw, whole, jsonOf);
    return sendFile(reply, { name: 'audit-log.json', type: 'application/json', content });
  });
  app.get('/audit-log.csv', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const asked = wantedOf(orgId, askedFilters(request));
    const whenEmpty = async () => demandKnown(deps, asked, await deps.persons.members(orgId));
    const lines = csvOf((ids) => deps.persons.names(ids), whenEmpty);
    const content = await files.text(reply.raw, { rowsMax: CSV_ENTRIES_MAX, asked }, lines);
    const { from, to } = askedFilters(request);
    // The file tells by its name which days it was asked for.
    const name = ['audit-log', from && `from-${from}`, to && `to-${to}`].filter(Boolean).join('-');
    return sendFile(reply, { name: `${name}.csv`, type: CSV_TYPE, content });
  });
}

/** What the address asks for. @throws Fault for an act or a day that is none */
function askedFilters(request: FastifyRequest): AuditFilters {
  return {
    action: askedAction(request),
    from: askedDay(request, 'from'),
    to: askedDay(request, 'to'),
    actor: askedFor(request, 'actor'),
    subject: askedFor(request, 'subject'),
  };
}

function askedDay(request: FastifyRequest, name: 'from' | 'to'): string {
  const day = askedFor(request, name);
  if (day === '' || askedForDay(day) !== undefined) return day;
  throw invalidParam(name, 'Write days like 2026-11-22, or leave them empty.');
}

/** The same as the log is asked, newest first. @throws Fault `invalid_to` */
function wantedOf(orgId: string, { action, actor, subject, ...days }: AuditFilters) {
  const [from, last] = [askedForDay(days.from), askedForDay(days.to)];
  if (from !== undefined && last !== undefined && last < from) {
    throw invalidParam('to', 'The last day is before the first.');
  }
  return {
    orgId,
    order: 'desc' as const,
    ...(action && { action }),
    ...(actor && { actor }),
    ...(subject && { subject }),
    ...(from === undefined ? {} : { from }),
    ...(last === undefined ? {} : { to: last + DAY_MS }),
  };
}

/**
 * An empty list is an answer only about a person who is here, or has acted, and about a thing that was acted upon.
 *
 * @throws Fault `invalid_actor`, `invalid_subject`
 */
async function demandKnown(
  { audit }: DashboardDeps,
  { orgId, actor, subject }: Pick<AuditPageRequest, 'orgId' | 'actor' | 'subject'>,
  members: readonly { id: string }[],
): Promise<void> {
  const isThere = async (one: { actor: string } | { subject: string }): Promise<boolean> =>
    (await audit.list({ orgId, ...one, limit: 1, order: 'desc' })).items.length > 0;
  if (
    actor !== undefined &&
    members.every(({ id }) => id !== actor) &&
    !(await isThere({ actor }))
  ) {
    throw invalidParam('actor', 'No person or key with this id has acted here.');
  }
  if (subject !== undefined && !(await isThere({ subject }))) {
    throw invalidParam('subject', 'Nothing with this id has been changed here.');
  }
}

/** @throws Fault `invalid_action`: an empty list would say that nothing of the kind was done */
function askedAction(request: FastifyRequest): AuditAction | '' {
  const action = askedFor(request, 'action');
  if (action === '' || isAuditAction(action)) return action;
  throw invalidParam('action', 'There is no such action. Choose one on the audit-log page.');
}
