import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sendPack } from '#api/routes/pack-download.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { planCovers } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { ExportRecord } from '#shared/packs/export-record.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor, askedForDay, doneOf } from '../forms.ts';
import {
  actorOf,
  demandRight,
  type PageExchange,
  seeOther,
  sendFramed,
  SESSION,
  sessionForm,
} from '../guard.ts';
import { exportPage, exportsPage, type ExportsParts } from './page.ts';
import { notFound, PageError } from '../page-error.ts';

const PAGE_LENGTH = 25;

const DONE = { deleted: 'Pack deleted.' } as const;

type OfExport = { Params: { org: string; id: string } };

/** Evidence packs: asked for, watched, downloaded, deleted. */
export function exportPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const { exports, store, start, onStoreError } = deps.exports;
  app.get('/exports', SESSION, (request, reply) => {
    const [from, to] = [askedFor(request, 'from'), askedFor(request, 'to')];
    const isAsked = askedForDay(from) !== undefined && askedForDay(to) !== undefined;
    const asked = isAsked ? { from, to } : { from: monthStart(deps.now()), to: '' };
    return list(deps, [request, reply], { ...asked, ...doneOf(request, DONE) });
  });
  app.post('/exports', SESSION, async (request, reply) => {
    demandRight(request.membership, 'make exports');
    const form = await sessionForm(deps, request);
    const { orgId } = request.membership;
    const [from, to] = [form.text('from'), form.text('to')];
    const [first, last] = [askedForDay(from), askedForDay(to)];
    const again = (problem: string, status: number): Promise<FastifyReply> =>
      list(deps, [request, reply], { from, to, problem }, status);
    if (!(await isOnPlan(deps, orgId))) return again('Your plan does not include exports.', 403);
    if ((from !== '' && first === undefined) || (to !== '' && last === undefined)) {
      return again('Write days like 2026-11-22, or leave them empty.', 400);
    }
    const period = {
      ...(first === undefined ? {} : { from: first }),
      ...(last === undefined ? {} : { to: last + DAY_MS }),
    };
    try {
      const record = await exports.create(orgId, period, actorOf(request));
      if (record.status === 'queued') start();
      return seeOther(reply, `/dashboard/${orgId}/exports/${record.id}`);
    } catch (error) {
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      return again(error.message, error.status);
    }
  });
  app.get<OfExport>('/exports/:id', SESSION, async (request, reply) => {
    const record = await find(deps, request);
    return sendFramed(deps, [request, reply], {
      title: 'Evidence pack',
      section: 'exports',
      body: (frame) => exportPage(frame, record),
    });
  });
  app.get<OfExport>('/exports/:id/pack.zip', SESSION, async (request, reply) => {
    const record = await find(deps, request);
    if (record.status !== 'ready') {
      throw new PageError(
        409,
        'This pack is not available',
        'It is not finished, or has been deleted.',
      );
    }
    const onDownload = () => exports.downloaded(record, actorOf(request));
    return sendPack(request, reply, record, { store, onDownload });
  });
  app.post<OfExport>('/exports/:id/delete', SESSION, async (request, reply) => {
    demandRight(request.membership, 'delete exports');
    await sessionForm(deps, request);
    const record = await find(deps, request);
    await exports.delete(record.orgId, record.id, actorOf(request));
    // A run that is under way removes what it writes itself; what is left here, the next sweep removes.
    if (record.status === 'ready') await store.delete(record.id).catch(onStoreError);
    return seeOther(reply, `/dashboard/${record.orgId}/exports?done=deleted`);
  });
}

/** A pack of another organisation is as none. */
async function find({ exports }: DashboardDeps, request: FastifyRequest): Promise<ExportRecord> {
  const { id } = request.params as OfExport['Params'];
  const record = await exports.exports.get(request.membership.orgId, id);
  if (record === null) throw notFound();
  return record;
}

async function isOnPlan({ accounts }: DashboardDeps, orgId: string): Promise<boolean> {
  return planCovers((await accounts.get(orgId)).plan, 'audit_plus');
}

async function list(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  parts: Omit<ExportsParts, 'page' | 'after' | 'onPlan' | 'keptDays'>,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const after = askedAfter(request, 'exp');
  const page = await deps.exports.exports.list({ orgId, limit: PAGE_LENGTH, order: 'desc', after });
  const onPlan = await isOnPlan(deps, orgId);
  const { keptDays } = deps.exports;
  return sendFramed(deps, [request, reply], {
    title: 'Exports',
    section: 'exports',
    status,
    body: (frame) => exportsPage(frame, { page, after, onPlan, keptDays, ...parts }),
  });
}

const monthStart = (now: number): string => `${new Date(now).toISOString().slice(0, 7)}-01`;
