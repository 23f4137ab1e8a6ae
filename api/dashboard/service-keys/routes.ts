import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf, type Form } from '../forms.ts';
import {
  type PageExchange,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
  whyNot,
} from '../guard.ts';
import { PageError } from '../page-error.ts';
import { standsFor } from '../keys/page.ts';
import { serviceKeyPage } from './page.ts';
import type { Told } from '../parts/elements.ts';

const DONE: Readonly<Record<string, string>> = {
  revoked:
    'Key revoked. It is refused everywhere within a second, and its organisation gets an e-mail.',
  leaked:
    'Key marked as leaked. It is refused everywhere within a second, and its organisation gets an e-mail.',
  restored: 'Key restored. It works again, and its organisation gets an e-mail.',
};

type OfKey = { Params: { id: string } };

/** What support does to a key of any organisation when it is asked: revoke it, say that it leaked, restore it. */
export function serviceKeyRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<OfKey>('/keys/:id', SESSION, (request, reply) => show(deps, [request, reply], {}));
  app.post<OfKey>('/keys/:id/revoke', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    return act(deps, [request, reply], async ({ orgId, id }, actor) => {
      const leaked = form.text('leaked') === 'yes';
      await deps.keys.revoke(orgId, id, actor, { reason: reasonFrom(form, 'revoke'), leaked });
      return leaked ? 'leaked' : 'revoked';
    });
  });
  app.post<OfKey>('/keys/:id/restore', SESSION, async (request, reply) => {
    const form = await confirmedForm(deps, request);
    return act(deps, [request, reply], async ({ orgId, id }, actor) => {
      await deps.keys.restore(orgId, id, actor, reasonFrom(form, 'restore'));
      return 'restored';
    });
  });
}

/** Does something to the key in the address, and shows what was done or why it was refused. */
async function act(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  perform: (key: KeyRecord, actor: Actor) => Promise<keyof typeof DONE>,
): Promise<FastifyReply> {
  const key = await deps.keys.find((request.params as OfKey['Params']).id);
  const mayNot = whyNot(request, key.orgId);
  if (mayNot !== undefined) throw new PageError(403, 'You cannot do this here', mayNot);
  try {
    const done = await perform(key, staffActorOf(request));
    return seeOther(reply, `/dashboard/service/keys/${key.id}?done=${done}`);
  } catch (error) {
    const { message, status } = refusalOf(error);
    const problem = `Nothing was done. ${message}`;
    return show(deps, [request, reply], { problem }, status);
  }
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  said: Told,
  status = 200,
): Promise<FastifyReply> {
  const key = await deps.keys.find((request.params as OfKey['Params']).id);
  const account = await deps.accounts.get(key.orgId);
  const done = doneOf(request, DONE, standsFor(key, deps.now()));
  return sendFramed(deps, [request, reply], {
    title: key.name,
    section: 'look-up',
    status,
    body: (frame) =>
      serviceKeyPage(frame, { key, account, mayNot: whyNot(request, key.orgId), ...done, ...said }),
  });
}

/** @throws Fault `invalid_reason` when none is given: support writes down why it acted. */
function reasonFrom(form: Form, name: string): string {
  const reason = form.note(`${name}-reason`);
  if (reason === '') throw new Fault('invalid_reason', { message: 'Say why.' });
  return reason;
}
