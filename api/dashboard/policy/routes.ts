import type { FastifyInstance } from 'fastify';
import { isId } from '#shared/kernel/ids.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor } from '../forms.ts';
import { sendFramed, SESSION } from '../guard.ts';
import { policyPage } from './page.ts';

const PAGE_LENGTH = 50;
const DAYS = 30;

/** What screening has blocked. */
export function policyRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/policy', SESSION, async (request, reply) => {
    const after = askedAfter(request, 'rcpt');
    const filters = {
      rule: askedFor(request, 'rule').slice(0, 200),
      org: askedFor(request, 'org').slice(0, 40),
    };
    const isOrg = isId('org', filters.org);
    // What is no id of an organisation is no organisation's.
    const isNobody = filters.org !== '' && !isOrg;
    const [rules, found] = await Promise.all([
      deps.policyHits.byRule(deps.now() - DAYS * DAY_MS),
      isNobody
        ? []
        : deps.policyHits.list({
            // One more says whether there are more.
            limit: PAGE_LENGTH + 1,
            ...(filters.rule !== '' && { rule: filters.rule }),
            ...(isOrg && { orgId: filters.org }),
            after,
          }),
    ]);
    const hits = found.slice(0, PAGE_LENGTH);
    const parts = { days: DAYS, rules, hits, filters, after, hasMore: found.length > PAGE_LENGTH };
    return sendFramed(deps, [request, reply], {
      title: 'Policy hits',
      section: 'policy',
      body: (frame) => policyPage(frame, parts),
    });
  });
}
