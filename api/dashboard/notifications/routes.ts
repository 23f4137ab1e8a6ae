import type { FastifyInstance } from 'fastify';
import { CHOSEN_TYPES } from '#shared/accounts/webhook-events.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, doneOf } from '../forms.ts';
import { seeOther, sendFramed, SESSION, sessionForm } from '../guard.ts';
import { notificationsPage } from './page.ts';

const PAGE_LENGTH = 50;

const DONE = { read: 'All notifications are marked as read.' } as const;

/** What an organisation was told: read by every member, as the pages that it leads to are. */
export function notificationRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/notifications', SESSION, async (request, reply) => {
    const reader = { orgId: request.membership.orgId, personId: request.visit.person.id };
    const type = CHOSEN_TYPES.find((known) => known === askedFor(request, 'kind'));
    const after = askedAfter(request, 'evt');
    const page = await deps.notifications.list(reader, { type, after, limit: PAGE_LENGTH });
    return sendFramed(deps, [request, reply], {
      title: 'Notifications',
      section: 'notifications',
      body: (frame) =>
        notificationsPage(frame, {
          page,
          type,
          after,
          sendsWebhooks: deps.webhooks.isOffered,
          ...doneOf(request, DONE, () => frame.unread === 0),
        }),
    });
  });
  // What one has seen is one's own: every member may, and nothing of the organisation changes.
  app.post('/notifications/read', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const through = (await sessionForm(deps, request)).text('through');
    if (isId('evt', through)) {
      await deps.notifications.see({ orgId, personId: request.visit.person.id }, through);
    }
    return seeOther(reply, `/dashboard/${orgId}/notifications?done=read`);
  });
}
