import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { regionLines } from '#api/front/status.ts';
import { REASON_LENGTH_MAX, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { REGION_STATUSES } from '#shared/catalogue/catalogue.ts';
import { circuitName } from '#shared/catalogue/circuit-breaker.ts';
import { checkRegionNote } from '#shared/catalogue/region-note.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { regionOfLane } from '#shared/lanes/keys.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';
import { confirmedForm } from '../session/confirmation.ts';
import type { DashboardDeps } from '../deps.ts';
import { doneOf } from '../forms.ts';
import {
  demandStaffStill,
  refusalOf,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
  staffActorOf,
} from '../guard.ts';
import { type OperatedRegion, regionsPage, type RegionsParts } from './page.ts';

const HISTORY_LENGTH = 15;
/** In all processes; each looks once a second. */
const DONE = { set: 'Region set. Every process knows within about a second.' };

/** Regions, as operators set them and tell the public about them. */
export function regionRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: Pick<RegionsParts, 'problem' | 'done' | 'typed'>,
    status = 200,
  ): Promise<FastifyReply> => {
    const action = 'region.set';
    const [regions, { items: history }] = await Promise.all([
      deps.operations.laneDepths().then((lanes) => operatedRegions(deps, lanes)),
      deps.audit.list({ orgId: SERVICE_CHAIN, action, limit: HISTORY_LENGTH, order: 'desc' }),
    ]);
    const names = await deps.persons.names(history.map(({ actorId }) => actorId));
    return sendFramed(deps, [request, reply], {
      title: 'Regions',
      section: 'regions',
      status,
      body: (frame) => regionsPage(frame, { regions, history, names, ...parts }),
    });
  };
  app.get('/regions', SESSION, (request, reply) => show(request, reply, doneOf(request, DONE)));
  app.post('/regions', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const code = form.text('region');
    const asked = form.text('status');
    const typed = { code, note: form.text('note'), reason: form.note('reason', REASON_LENGTH_MAX) };
    try {
      if (!deps.index().regions.has(code)) throw new Fault('region_not_found');
      const status = REGION_STATUSES.find((known) => known === asked) ?? null;
      if (status === null && asked !== 'catalogue') {
        throw invalidParam('status', 'There is no such state.');
      }
      if (typed.reason === '') throw invalidParam('reason', 'Enter a reason.');
      // What closes a region cannot wait for a password; what opens one can.
      const opens = status === null || status === 'normal';
      const { regionStatuses } = deps.operations;
      // The form holds the note that stands: unchanged, it is that of the incident that is over.
      const isOver = opens && typed.note === (await regionStatuses.notes()).get(code)?.text;
      const text = isOver ? null : checkRegionNote(typed.note);
      if (opens) await confirmedForm(deps, request);
      await demandStaffStill(deps, request);
      await regionStatuses.set(code, status);
      await regionStatuses.setNote(code, text === null ? null : { text, at: deps.now() });
      // After it is done, as by the command: an incident does not wait for a log, and what is done is written down.
      const { allowedBy: _wasLookedAt, ...doneBy } = staffActorOf(request);
      await deps.audit.append({
        orgId: SERVICE_CHAIN,
        action: 'region.set',
        subject: code,
        actor: doneBy,
        reason: typed.reason,
        details: { status: asked, note: text },
      });
    } catch (error) {
      const { message, status } = refusalOf(error);
      return show(request, reply, { problem: `Nothing was set. ${message}`, typed }, status);
    }
    return seeOther(reply, '/dashboard/service/regions?done=set');
  });
}

const isLaneOf = (lane: string, code: string): boolean =>
  !lane.endsWith(':receipts') && regionOfLane(lane) === code;

/** Every region as an operator sees it; `lanes` are those of all regions. */
export async function operatedRegions(
  { index, operations }: DashboardDeps,
  lanes: readonly LaneDepth[],
): Promise<OperatedRegion[]> {
  const { health, served, regionStatuses } = operations;
  const [overrides, notes] = await Promise.all([regionStatuses.list(), regionStatuses.notes()]);
  const serving = served();
  const now = { ...health(), states: new Map([...health().states, ...overrides]) };
  const sources = { index: index(), health: now, isServed: (code: string) => serving.has(code) };
  const lines = regionLines({ ...sources, notes }, () => true);
  return lines.map((line) => ({
    line,
    region: index().regions.get(line.code)!,
    override: overrides.get(line.code),
    serving: serving.get(line.code),
    lanes: lanes.filter(({ lane }) => isLaneOf(lane, line.code)),
    openCircuits: [...now.openCircuits].filter((name) =>
      name.startsWith(circuitName(line.code, '')),
    ),
  }));
}
