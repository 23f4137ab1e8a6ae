import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import { confirmedForm } from './confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import {
  actorOf,
  placeToGo,
  seeOther,
  sendForScript,
  SESSION,
  visitorForm,
  visitorOf,
  visitorSubject,
} from '../guard.ts';
import { notFound, PageError } from '../page-error.ts';

/** What one address asks for, signing in or setting up: each is a row until it is used or over. */
const ASKED_BY: Attempts = { burst: 40, intervalMs: 5_000 };

async function countAsked(deps: DashboardDeps, { ip }: FastifyRequest): Promise<void> {
  if ((await deps.takeAttempt(`passkeys by ${callerNetwork(ip)}`, ASKED_BY)) === 0) return;
  throw new PageError(429, 'Too many attempts', 'Wait a minute, and start again.');
}

/** Signing in by a passkey: the person shows the device who they are, and the device shows us its key. */
export function passkeySignIn(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/sign-in/passkey', SESSION, async (request, reply) => {
    const subject = visitorSubject(request);
    const ceremony = await deps.ceremony(request.host);
    if (subject === undefined || ceremony === undefined) throw notFound();
    await countAsked(deps, request);
    return sendForScript(reply, await ceremony.beginShowing(subject));
  });
  app.post('/sign-in/passkey', SESSION, async (request, reply) => {
    const form = await visitorForm(deps, request);
    await countAsked(deps, request);
    const ceremony = await deps.ceremony(request.host);
    const shown = await ceremony?.shown(visitorSubject(request)!, form.exact('passkey'));
    const signIn = await deps.signIn();
    const opened = shown && (await signIn.openByPasskey(shown, visitorOf(request)));
    if (!opened) {
      throw new PageError(
        401,
        'The passkey was not accepted',
        'It is not known here, or it answered too late. Sign in with your password, or try again.',
      );
    }
    void reply.header('set-cookie', opened.cookies);
    return seeOther(reply, placeToGo(form.text('to')));
  });
}

/** A person's own passkeys. For sessions that they have opened themselves. */
export function passkeyRoutes(
  app: FastifyInstance,
  deps: DashboardDeps,
  show: (
    request: FastifyRequest,
    reply: FastifyReply,
    told: { problem?: string },
    status: number,
  ) => Promise<FastifyReply>,
): void {
  app.get('/account/passkeys/new', SESSION, async (request, reply) => {
    await countAsked(deps, request);
    const ceremony = await deps.ceremony(request.host);
    if (ceremony === undefined) throw notFound();
    return sendForScript(
      reply,
      await ceremony.beginMaking(subjectOf(request), request.visit.person),
    );
  });
  app.get('/account/passkeys/shown', SESSION, async (request, reply) => {
    await countAsked(deps, request);
    const ceremony = await deps.ceremony(request.host);
    if (ceremony === undefined) throw notFound();
    return sendForScript(reply, await ceremony.beginShowing(subjectOf(request)));
  });
  const act = (
    path: string,
    done: string,
    perform: (request: FastifyRequest) => Promise<string | void>,
  ): void => {
    app.post(path, SESSION, async (request, reply) => {
      let to: string | void;
      try {
        to = await perform(request);
      } catch (error) {
        if (!(error instanceof Fault) || error.status >= 500) throw error;
        const problem = `Nothing was done. ${error.message}`;
        return show(request, reply, { problem }, error.status);
      }
      return seeOther(reply, to ?? `/dashboard/account?done=${done}`);
    });
  };
  act('/account/passkeys', 'passkey', async (request) => {
    const form = await confirmedForm(deps, request);
    const ceremony = await deps.ceremony(request.host);
    const made = await ceremony?.made(subjectOf(request), form.exact('passkey'));
    if (made === undefined) {
      throw new PageError(
        400,
        'No passkey was added',
        'Your browser made none, or it answered too late. Go back and try again.',
      );
    }
    await deps.passkeys.add(request.visit, form.text('name'), made, actorOf(request));
    return form.text('to') === '' ? undefined : placeToGo(form.text('to'));
  });
  act('/account/passkeys/remove', 'no-passkey', async (request) => {
    const form = await confirmedForm(deps, request);
    await deps.passkeys.remove(request.visit, form.exact('passkey'), actorOf(request));
  });
}

const subjectOf = ({ visit }: FastifyRequest): string => `session ${visit.session.id}`;
