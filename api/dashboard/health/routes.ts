import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FlagOutcome } from '#shared/receipts/postgres/recalculation-requests.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import { seeOther, sendFramed, SESSION, sessionForm, staffActorOf } from '../guard.ts';
import { healthPage, type HealthParts } from './page.ts';

const PARKED_SHOWN = 50;
/** Of e-mails that wait, and of those that were given up: one mail server is the cause of most of them. */
const LETTERS_SHOWN = 25;
/** Counting further would tell nothing more. */
const DUE_MAX = 1_000;

const OUTCOMES: Readonly<Record<FlagOutcome, string>> = {
  flagged: 'Trying again now.',
  pending: 'It has already been asked for, and will be tried again soon.',
  not_degraded: 'The receipt is no longer degraded: there is nothing to try again.',
  unknown: 'There is no such receipt.',
};
const DONE = {
  ...OUTCOMES,
  letter: 'The e-mail will be sent within seconds, or tried again for another day.',
};
const NO_LETTER =
  'No such e-mail was given up: it is still being tried, was sent, or is no longer on record.';
/** E-mails are counted. */
const LETTER_ID = /^[1-9]\d{0,17}$/;

/** What of the service waits for an operator. */
export function healthRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    told: Pick<HealthParts, 'problem' | 'done'>,
    status = 200,
  ): Promise<FastifyReply> => {
    const { health, operations, recalculations, sanctions, unsentLetters, vettings } = deps;
    // What else is on the page is of PostgreSQL, and is looked for all the more while Redis is away.
    const askPeers = operations.peers().catch((error: unknown) => {
      deps.onError(error);
      return null;
    });
    const [ledger, parked, unsent, lists, due, peers] = await Promise.all([
      health(),
      recalculations.waiting({ state: 'parked', limit: PARKED_SHOWN }),
      unsentLetters.list(LETTERS_SHOWN),
      sanctions.lists(),
      vettings.due(DUE_MAX),
      askPeers,
    ]);
    const shown = lists.filter(({ current }) => current);
    const counts = { due: due.length, dueMax: DUE_MAX };
    const parts = { ...ledger, peers, parked, unsent, lists: shown, ...counts, ...told };
    return sendFramed(deps, [request, reply], {
      title: 'Health',
      section: 'health',
      status,
      body: (frame) => healthPage(frame, parts),
    });
  };
  app.get('/health', SESSION, (request, reply) => show(request, reply, doneOf(request, DONE)));
  app.post('/health/retry', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const by = { actor: staffActorOf(request) };
    const outcome = await deps.recalculations.flag(form.text('org'), form.text('receipt'), by);
    if (outcome === 'unknown') return show(request, reply, { problem: OUTCOMES.unknown }, 404);
    return seeOther(reply, `/dashboard/service/health?done=${outcome}`);
  });
  app.post('/health/letters', SESSION, async (request, reply) => {
    const id = (await sessionForm(deps, request)).text('letter');
    const isTried =
      LETTER_ID.test(id) && (await deps.unsentLetters.tryAgain(id, staffActorOf(request)));
    if (!isTried) return show(request, reply, { problem: NO_LETTER }, 404);
    return seeOther(reply, '/dashboard/service/health?done=letter');
  });
}
