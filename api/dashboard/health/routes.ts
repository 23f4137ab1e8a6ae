import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FlagOutcome } from '#shared/receipts/postgres/recalculation-requests.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import { seeOther, sendFramed, SESSION, sessionForm, staffActorOf } from '../guard.ts';
import { readJobs } from '../operations.ts';
import { operatedRegions } from '../regions/routes.ts';
import { alarmsOf, type Watched } from './alarms.ts';
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

/** What Redis knows of the service; null in the place of what it does not say, since what PostgreSQL has is looked for all the more then. */
async function readRunning(
  deps: DashboardDeps,
): Promise<Pick<Watched, 'redisRefusal' | 'peers' | 'regions' | 'lanes' | 'jobs'>> {
  const { writes, peers, laneDepths, queues } = deps.operations;
  let isTold = false;
  const orNull = <T>(asked: Promise<T>): Promise<T | null> =>
    asked.catch((error: unknown) => {
      // One line of the log for what has one cause.
      if (!isTold) deps.onError(error);
      isTold = true;
      return null;
    });
  const depths = orNull(laneDepths());
  const [redisRefusal, running, lanes, regions, jobs] = await Promise.all([
    writes().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    ),
    orNull(peers()),
    depths,
    depths.then((known) => orNull(operatedRegions(deps, known ?? []))),
    orNull(readJobs(queues)),
  ]);
  return { redisRefusal, peers: running, regions, lanes, jobs };
}

/** What of the service waits for an operator. */
export function healthRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    told: Pick<HealthParts, 'problem' | 'done'>,
    status = 200,
  ): Promise<FastifyReply> => {
    const { health, recalculations, sanctions, unsentLetters, vettings } = deps;
    const [ledger, parked, unsent, lists, due, running] = await Promise.all([
      health(),
      recalculations.waiting({ state: 'parked', limit: PARKED_SHOWN }),
      unsentLetters.list(LETTERS_SHOWN),
      sanctions.lists(),
      vettings.due(DUE_MAX),
      readRunning(deps),
    ]);
    const shown = lists.filter(({ current }) => current);
    const alarms = alarmsOf({
      ...running,
      backlog: ledger.backlog,
      parked: parked.length,
      lettersGivenUp: unsent.givenUp,
      lists: shown.length,
      now: deps.now(),
    });
    const { peers, regions, lanes, jobs } = running;
    const isPartial = peers === null || regions === null || lanes === null || jobs === null;
    const counts = { due: due.length, dueMax: DUE_MAX };
    const parts = {
      alarms,
      isPartial,
      ...ledger,
      peers,
      parked,
      unsent,
      lists: shown,
      ...counts,
      ...told,
    };
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
