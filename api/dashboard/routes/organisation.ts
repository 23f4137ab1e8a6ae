import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type AuditAction, isAuditAction } from '#shared/accounts/audit/entry.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor } from '../forms.ts';
import { demandRight, sendFile, sendFramed } from '../guard.ts';
import { auditCsv } from '../pages/audit-csv.ts';
import { notFound } from '../page-error.ts';
import { headOf } from '../signed-head.ts';
import { auditPage } from '../pages/organisation.ts';

const SESSION = { config: { scope: 'session' } } as const;
const PAGE_LENGTH = 50;
/** Entries of one file, newest first: years of most organisations, and a few megabytes. */
const CSV_ENTRIES_MAX = 10_000;
/** Entries of a file that are read at once. */
const CSV_READ = 1_000;

/** What was done in an organisation. */
export function organisationRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/audit-log', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const after = askedAfter(request, 'aud');
    const action = askedAction(request);
    const page = await deps.audit.list({
      orgId,
      limit: PAGE_LENGTH,
      order: 'desc',
      ...(after === undefined ? {} : { after }),
      ...(action === '' ? {} : { action }),
    });
    const [names, signed, anchored] = await Promise.all([
      deps.persons.names(page.items.map(({ actorId }) => actorId)),
      deps.auditCheckpoint(orgId),
      deps.anchoredAudit(orgId),
    ]);
    const head = signed === null ? undefined : headOf(signed);
    return sendFramed(deps, [request, reply], {
      title: 'Audit log',
      section: 'audit-log',
      body: (frame) => auditPage(frame, { page, names, action, after, head, anchored }),
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
  app.get('/audit-log.csv', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const action = askedAction(request);
    const asked = { orgId, limit: CSV_READ, order: 'desc', ...(action && { action }) } as const;
    let page = await deps.audit.list(asked);
    const entries = [...page.items];
    while (page.hasMore && entries.length < CSV_ENTRIES_MAX) {
      page = await deps.audit.list({ ...asked, after: entries.at(-1)!.id });
      entries.push(...page.items);
    }
    const names = await deps.persons.names(entries.map(({ actorId }) => actorId));
    return sendFile(reply, {
      name: 'audit-log.csv',
      type: 'text/csv; charset=utf-8',
      content: auditCsv(entries, names),
    });
  });
}

/** @throws Fault `invalid_action`: an empty list would say that nothing of the kind was done */
function askedAction(request: FastifyRequest): AuditAction | '' {
  const action = askedFor(request, 'action');
  if (action === '' || isAuditAction(action)) return action;
  throw invalidParam('action', 'There is no such action. Choose one on the page of the audit log.');
}
