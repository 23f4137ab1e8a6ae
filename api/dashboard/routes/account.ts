import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { mayTryPassword } from '../confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import { seeOther, sendFramed, sessionForm, visitorOf } from '../guard.ts';
import { PASSWORD_LENGTH_MIN } from '../password-rule.ts';
import { accountPage } from '../pages/account.ts';

const SESSION = { config: { scope: 'session' } } as const;

const DONE: Readonly<Record<string, string>> = {
  ended: 'The session has ended.',
  others: 'All other sessions have ended.',
  password: 'Your password was changed, and all other sessions have ended.',
};

/** A person's own page: sessions and password. */
export function accountRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    told: { problem?: string; done?: string },
    status = 200,
  ): Promise<FastifyReply> => {
    const parts = {
      sessions: await (await deps.door()).sessions(visitorOf(request)),
      currentId: request.visit.session.id,
      passwordLengthMin: PASSWORD_LENGTH_MIN,
      ...told,
    };
    return sendFramed(deps, [request, reply], {
      title: 'Your account',
      status,
      body: (frame) => accountPage(frame, parts),
    });
  };
  app.get('/account', SESSION, (request, reply) => show(request, reply, doneOf(request, DONE)));
  app.post('/account/sessions/end', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    await (await deps.door()).endSession(form.text('session'), visitorOf(request));
    return seeOther(reply, '/dashboard/account?done=ended');
  });
  app.post('/account/sessions/end-others', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    await (await deps.door()).endOtherSessions(visitorOf(request));
    return seeOther(reply, '/dashboard/account?done=others');
  });
  app.post('/account/password', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    if (!(await mayTryPassword(deps, request.visit.person.id))) {
      return show(request, reply, { problem: 'Too many attempts. Wait a minute.' }, 429);
    }
    const changed = await (
      await deps.door()
    ).changePassword(form.exact('current'), form.exact('password'), visitorOf(request));
    if (changed === null) {
      const problem = `The current password is wrong, or the new one has not ${PASSWORD_LENGTH_MIN} to 128 characters. Nothing was changed.`;
      return show(request, reply, { problem }, 400);
    }
    void reply.header('set-cookie', changed.cookies);
    return seeOther(reply, '/dashboard/account?done=password');
  });
  app.post('/sign-out', SESSION, async (request, reply) => {
    await sessionForm(deps, request);
    void reply.header('set-cookie', await (await deps.door()).signOut(visitorOf(request)));
    return seeOther(reply, '/dashboard/sign-in?done=out');
  });
}
