import type { FastifyInstance, FastifyRequest } from 'fastify';
import { HOUR_MS } from '#shared/kernel/time.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor } from '../forms.ts';
import { sendFramed, SESSION } from '../guard.ts';
import { PERIODS, timesPage, trafficPage } from './page.ts';

/** What became of the requests of all organisations. */
export function trafficRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/requests', SESSION, async (request, reply) => {
    const hours = hoursAsked(request);
    const traffic = await deps.traffic({ since: deps.now() - hours * HOUR_MS });
    return sendFramed(deps, [request, reply], {
      title: 'Requests of all organisations',
      section: 'requests',
      body: () => trafficPage({ hours, ...traffic }),
    });
  });
}

/** Errors and times of one organisation, as its people see them. */
export function timesRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/requests/times', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const hours = hoursAsked(request);
    const traffic = await deps.traffic({ since: deps.now() - hours * HOUR_MS, orgId });
    return sendFramed(deps, [request, reply], {
      title: 'Errors and times',
      section: 'requests',
      body: () => timesPage(`/dashboard/${orgId}/requests`, { hours, ...traffic }),
    });
  });
}

const hoursAsked = (request: FastifyRequest): (typeof PERIODS)[number] =>
  PERIODS.find((each) => String(each) === askedFor(request, 'hours')) ?? PERIODS[0];
