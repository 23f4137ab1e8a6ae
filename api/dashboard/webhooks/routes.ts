import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { WebhookEndpoint } from '#shared/webhooks/endpoint.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, doneOf, type Form } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { notFound, PageError } from '../page-error.ts';
import { confirmedForm } from '../session/confirmation.ts';
import { shownOnce } from '../session/shown-once.ts';
import {
  endpointPage,
  secretPage,
  type Typed,
  WEBHOOK_DONE,
  webhooksPage,
  type WebhooksParts,
} from './page.ts';

/** What people have sent by hand, each of which calls a server: enough to try a receiver, and no load for another's. */
const SENT_BY_HAND: Attempts = { burst: 10, intervalMs: MINUTE_MS / 2 };

type OfWebhook = { Params: { org: string; id: string } };

/** Who is told by machines what happens: seen and set by owners and admins, since an address may open a door. */
export function webhookRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const { webhooks } = deps;
  app.get('/webhooks', SESSION, (request, reply) => {
    demandRight(request.membership, 'set up webhooks');
    return showAll(deps, [request, reply], doneOf(request, WEBHOOK_DONE));
  });
  app.get<OfWebhook>('/webhooks/:id', SESSION, (request, reply) => {
    demandRight(request.membership, 'set up webhooks');
    return showOne(deps, [request, reply], doneOf(request, WEBHOOK_DONE));
  });
  secretRoute(app, deps);
  app.post('/webhooks', SESSION, async (request, reply) => {
    demandRight(request.membership, 'set up webhooks');
    const form = await confirmedForm(deps, request);
    const { orgId } = request.membership;
    try {
      const { endpoint, secret } = await webhooks.make(orgId, asked(form), actorOf(request));
      return showSecret(deps, [request, reply], endpoint.id, secret);
    } catch (error) {
      const { message, status } = refusalOf(error);
      const said = { problem: `Nothing was saved. ${message}`, typed: typedIn(form) };
      return showAll(deps, [request, reply], said, status);
    }
  });
  const act = (
    path: string,
    readForm: (deps: DashboardDeps, request: FastifyRequest) => Promise<Form>,
    perform: (
      endpoint: WebhookEndpoint,
      exchange: PageExchange,
      form: Form,
    ) => Promise<keyof typeof WEBHOOK_DONE | FastifyReply>,
  ): void => {
    app.post<OfWebhook>(`/webhooks/:id/${path}`, SESSION, async (request, reply) => {
      demandRight(request.membership, 'set up webhooks');
      const endpoint = await find(deps, request);
      const form = await readForm(deps, request);
      try {
        const done = await perform(endpoint, [request, reply], form);
        if (typeof done !== 'string') return done;
        const base = `/dashboard/${endpoint.orgId}/webhooks`;
        return seeOther(reply, `${base}${done === 'ended' ? '' : `/${endpoint.id}`}?done=${done}`);
      } catch (error) {
        const { message, status } = refusalOf(error);
        const typed = path === 'change' ? { typed: typedIn(form) } : {};
        const said = { problem: `Nothing was done. ${message}`, ...typed };
        return showOne(deps, [request, reply], said, status);
      }
    });
  };
  // What is sent to another address, or signed anew, is for who shows that it is they.
  act('change', confirmedForm, async ({ orgId, id }, [request], form) => {
    await webhooks.change(orgId, id, asked(form), actorOf(request));
    return 'changed';
  });
  act('secret', confirmedForm, async ({ orgId, id }, [request, reply]) => {
    const secret = await webhooks.rotate(orgId, id, actorOf(request));
    return showSecret(deps, [request, reply], id, secret);
  });
  act('resume', sessionForm, async ({ orgId, id }, [request]) => {
    await webhooks.resume(orgId, id, actorOf(request));
    return 'resumed';
  });
  act('end', sessionForm, async ({ orgId, id }, [request]) => {
    await webhooks.end(orgId, id, actorOf(request));
    return 'ended';
  });
  act('test', sessionForm, async ({ orgId, id }) => {
    await countSent(deps, orgId);
    await webhooks.test(orgId, id);
    return 'tested';
  });
  act('again', sessionForm, async ({ orgId, id }, _exchange, form) => {
    await countSent(deps, orgId);
    await webhooks.sendAgain(orgId, id, form.text('message'));
    return 'again';
  });
}

async function countSent(deps: DashboardDeps, orgId: string): Promise<void> {
  if ((await deps.takeAttempt(`webhooks sent by hand of ${orgId}`, SENT_BY_HAND)) === 0) return;
  throw new PageError(429, 'Too many messages', 'Wait a minute, and send it then.');
}

/** The endpoint in the address. One of another organisation is as none. */
async function find(
  { webhooks }: DashboardDeps,
  request: FastifyRequest,
): Promise<WebhookEndpoint> {
  const { id } = request.params as OfWebhook['Params'];
  const all = await webhooks.list(request.membership.orgId);
  const found = all.find((endpoint) => endpoint.id === id);
  if (found === undefined) throw notFound();
  return found;
}

const asked = (form: Form) => ({
  address: form.text('address'),
  description: form.text('description'),
  events: form.all('event'),
});

function typedIn(form: Form): Typed {
  return asked(form);
}

const SECRET = shownOnce('docket_webhook');

const secretAddress = (orgId: string, id: string): string =>
  `/dashboard/${orgId}/webhooks/${id}/secret`;

/** Sends on to the page of a new secret, so that a reload of it makes no other. The secret goes along, sealed. */
function showSecret(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  id: string,
  secret: string,
): FastifyReply {
  const shown = { address: secretAddress(request.membership.orgId, id), id };
  return SECRET.send(deps, [request, reply], shown, secret);
}

/** The page that shows a secret. The second time it has nothing to show, and leads to the endpoint. */
function secretRoute(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<OfWebhook>('/webhooks/:id/secret', SESSION, async (request, reply) => {
    demandRight(request.membership, 'set up webhooks');
    const endpoint = await find(deps, request);
    const { orgId, id } = endpoint;
    const shown = { address: secretAddress(orgId, id), id };
    const secret = SECRET.take(deps, [request, reply], shown);
    if (secret === null) return seeOther(reply, `/dashboard/${orgId}/webhooks/${id}`);
    return sendFramed(deps, [request, reply], {
      title: 'Webhook',
      section: 'webhooks',
      showsSecret: true,
      body: (frame) => secretPage(frame, { endpoint, secret }),
    });
  });
}

type Said = Pick<WebhooksParts, 'problem' | 'done' | 'typed'>;

async function showAll(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Said,
  status = 200,
): Promise<FastifyReply> {
  const endpoints = await deps.webhooks.list(request.membership.orgId);
  const { isOffered } = deps.webhooks;
  return sendFramed(deps, [request, reply], {
    title: 'Webhooks',
    section: 'webhooks',
    status,
    body: (frame) => webhooksPage(frame, { endpoints, isOffered, ...said }),
  });
}

async function showOne(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Said,
  status = 200,
): Promise<FastifyReply> {
  const endpoint = await find(deps, request);
  const after = askedAfter(request, 'msg');
  const log = await deps.webhooks.deliveries(endpoint.orgId, endpoint.id, after);
  const { isOffered } = deps.webhooks;
  return sendFramed(deps, [request, reply], {
    title: 'Webhook',
    section: 'webhooks',
    status,
    body: (frame) => endpointPage(frame, { endpoint, log, after, isOffered, ...said }),
  });
}
