import type { FastifyInstance, FastifyReply } from 'fastify';
import { readCode } from '#shared/persons/command-line.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, doneOf } from '../forms.ts';
import {
  type PageExchange,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
} from '../guard.ts';
import { type CommandLineParts, commandLinePage } from './page.ts';

const DONE: Readonly<Record<string, string>> = {
  allowed: 'It now acts in your name.',
  ended: 'It no longer acts in your name.',
};

/** Longer than a code as anyone types it. */
const TYPED_LENGTH_MAX = 20;

/** A person who works for the service lets a command line act in their name, and ends it. */
export function commandLineRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/command-line', SESSION, (request, reply) => {
    const code = askedFor(request, 'code');
    return show(deps, [request, reply], { code, ...doneOf(request, DONE) });
  });
  app.post('/command-line', SESSION, async (request, reply) => {
    const code = (await sessionForm(deps, request)).text('code');
    return show(deps, [request, reply], { code });
  });
  app.post('/command-line/allow', SESSION, async (request, reply) => {
    const code = readCode((await confirmedForm(deps, request)).text('code'));
    const { session } = request.visit;
    const allowed =
      code === null ? null : await deps.commandLines.allow(code, staffActorOf(request), session.id);
    if (allowed !== null) return seeOther(reply, '/dashboard/service/command-line?done=allowed');
    const problem = 'Nothing was done: nothing is waiting with this code any more.';
    return show(deps, [request, reply], { code: '', problem }, 404);
  });
  app.post('/command-line/end', SESSION, async (request, reply) => {
    const code = readCode((await sessionForm(deps, request)).text('code'));
    const isEnded = code !== null && (await deps.commandLines.end(code, staffActorOf(request)));
    if (isEnded) return seeOther(reply, '/dashboard/service/command-line?done=ended');
    const problem = 'Nothing was done: that does not act in your name.';
    return show(deps, [request, reply], { code: '', problem }, 404);
  });
}

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  { code: typed, ...said }: Omit<CommandLineParts, 'own' | 'waiting'>,
  status = 200,
): Promise<FastifyReply> {
  const code = typed.slice(0, TYPED_LENGTH_MAX);
  const read = readCode(code);
  const [own, waiting] = await Promise.all([
    deps.commandLines.of(request.visit.person.id),
    read === null ? null : deps.commandLines.waiting(read),
  ]);
  return sendFramed(deps, [request, reply], {
    title: 'Command line',
    section: 'command-line',
    status,
    body: (frame) =>
      commandLinePage(frame, { code, own, ...(code === '' ? {} : { waiting }), ...said }),
  });
}
