import type { FastifyInstance } from 'fastify';
import { stateAt } from '#shared/keys/lifecycle.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import { sendFramed, SESSION } from '../guard.ts';
import { notFound } from '../page-error.ts';
import { rotationPage } from './page.ts';

const DONE: Readonly<Record<string, string>> = {
  issued: 'The new key was shown once. If you did not store it, revoke it below and issue another.',
  revoked: 'Key revoked: requests with it are refused everywhere within a second.',
};

/** The rotation of a key, at the address of the one that is to go. */
export function rotationRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<{ Params: { id: string } }>('/keys/:id/rotation', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const old = await deps.keys.get(orgId, request.params.id);
    if (old.playgroundOf !== null) throw notFound();
    const successor = await deps.keys.successor(orgId, old.id);
    const isActive = (key: KeyRecord | null): boolean =>
      key !== null && stateAt(key, deps.now()) === 'active';
    const done = doneOf(request, DONE, (name) =>
      name === 'issued' ? isActive(successor) : !isActive(old) || !isActive(successor),
    );
    const parts = { old, successor, ...done };
    return sendFramed(deps, [request, reply], {
      title: `Rotate ${old.name}`,
      section: 'keys',
      body: (frame) => rotationPage(frame, parts),
    });
  });
}
