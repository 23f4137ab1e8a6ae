import type { FastifyInstance } from 'fastify';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor } from '../forms.ts';
import { demandRight, sendFramed } from '../guard.ts';
import { auditPage } from '../pages/organisation.ts';

const SESSION = { config: { scope: 'session' } } as const;
const PAGE_LENGTH = 50;
/** Names of actions are short; a longer text names none. */
const ACTION_LENGTH_MAX = 100;

/** What was done in an organisation. */
export function organisationRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/audit-log', SESSION, async (request, reply) => {
    demandRight(request.membership, 'read the audit log');
    const { orgId } = request.membership;
    const after = askedAfter(request, 'aud');
    const action = askedFor(request, 'action').slice(0, ACTION_LENGTH_MAX);
    const page = await deps.audit.list({
      orgId,
      limit: PAGE_LENGTH,
      order: 'desc',
      ...(after === undefined ? {} : { after }),
      ...(action === '' ? {} : { action }),
    });
    const names = await deps.persons.names(page.items.map(({ actorId }) => actorId));
    return sendFramed(deps, [request, reply], {
      title: 'Audit log',
      section: 'audit-log',
      body: (frame) => auditPage(frame, { page, names, action, after }),
    });
  });
}
