import type { FastifyInstance } from 'fastify';
import type { DashboardDeps } from '../deps.ts';
import { sendFramed, SESSION } from '../guard.ts';
import { readJobs } from '../operations.ts';
import { queuesPage } from './page.ts';

/** What of the service is on its way. */
export function queueRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/queues', SESSION, async (request, reply) => {
    const { laneDepths, queues } = deps.operations;
    const [lanes, jobs] = await Promise.all([laneDepths(), readJobs(queues)]);
    return sendFramed(deps, [request, reply], {
      title: 'Queues',
      section: 'queues',
      body: (frame) => queuesPage(frame, { lanes, ...jobs }),
    });
  });
}
