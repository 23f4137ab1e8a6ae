import type { FastifyInstance } from 'fastify';
import { HOUR_MS } from '#shared/kernel/time.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor } from '../forms.ts';
import { sendFramed, SESSION } from '../guard.ts';
import { PERIODS, trafficPage } from './page.ts';

/** What became of the requests of all organisations. */
export function trafficRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/requests', SESSION, async (request, reply) => {
    const hours = PERIODS.find((each) => String(each) === askedFor(request, 'hours')) ?? PERIODS[0];
    const traffic = await deps.traffic(deps.now() - hours * HOUR_MS);
    return sendFramed(deps, [request, reply], {
      title: 'Requests of all organisations',
      section: 'requests',
      body: () => trafficPage({ hours, ...traffic }),
    });
  });
}
