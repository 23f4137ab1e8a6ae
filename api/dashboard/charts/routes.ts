import type { FastifyInstance, FastifyRequest } from 'fastify';
import { usageCsv } from '#api/routes/usage.ts';
import { csvLine, fieldOfOthers } from '#shared/kernel/csv.ts';
import { isoDay, timeText } from '#shared/kernel/time.ts';
import type { UsageGrouping, UsageReport } from '#shared/receipts/usage.ts';
import {
  ALL_ORGANISATIONS,
  COUNTED_TIMES,
  type CountedBy,
  type CountsRow,
  percentileOf,
} from '#shared/requests/counts.ts';
import type { DashboardDeps } from '../deps.ts';
import { sendFile, sendFramed, SESSION } from '../guard.ts';
import { keyNames } from '../keys/names.ts';
import { PageError } from '../page-error.ts';
import { asLongBefore, type Asked, askedChart, isOfReceipts, timeOf } from './asked.ts';
import { chartsPage, PARTS_SHOWN } from './page.ts';
import {
  type Charted,
  chartOfCounts,
  chartOfUsage,
  PERCENTILES,
  percentileName,
} from './series.ts';

/** Names of a file: a name beyond those of a day is counted with others, and days may have different ones. */
const CSV_NAMES_MAX = 500;

/** Series of one organisation, as its people see them. */
export function chartRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/charts', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { tags } = await deps.accounts.get(orgId);
    const asked = askedChart(request, deps.now(), tags);
    const parts = {
      asked,
      tags,
      charted: await chartedOf(deps, orgId, asked),
      keys: asked.by === 'key' ? await keyNames(deps, orgId) : new Map<string, string>(),
      address: `/dashboard/${orgId}/charts`,
      list: `/dashboard/${orgId}/requests`,
    };
    return sendFramed(deps, [request, reply], {
      title: 'Charts',
      section: 'charts',
      status: asked.problem === undefined ? 200 : 400,
      body: (frame) => chartsPage(parts, frame),
    });
  });
  app.get('/charts.csv', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { tags } = await deps.accounts.get(orgId);
    return sendFile(reply, await fileOf(deps, orgId, askedOf(request, deps.now(), tags)));
  });
}

/** The same over all organisations. */
export function serviceChartRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/charts', SESSION, async (request, reply) => {
    const asked = askedChart(request, deps.now(), undefined);
    const parts = {
      asked,
      tags: undefined,
      charted: await chartedOf(deps, ALL_ORGANISATIONS, asked),
      keys: new Map<string, string>(),
      address: '/dashboard/service/charts',
      list: undefined,
    };
    return sendFramed(deps, [request, reply], {
      title: 'Charts of all organisations',
      section: 'charts',
      status: asked.problem === undefined ? 200 : 400,
      body: () => chartsPage(parts),
    });
  });
  app.get('/charts.csv', SESSION, async (request, reply) =>
    sendFile(reply, await fileOf(deps, ALL_ORGANISATIONS, askedOf(request, deps.now(), undefined))),
  );
}

/** What a file is asked for. @throws PageError for days that are none */
function askedOf(request: FastifyRequest, now: number, tags: readonly string[] | undefined): Asked {
  const asked = askedChart(request, now, tags);
  if (asked.problem !== undefined)
    throw new PageError(400, 'There is no such chart', asked.problem);
  return asked;
}

/** One read after the other: a page has one of the few connections that all pages have together. */
async function chartedOf(
  deps: DashboardDeps,
  orgId: string,
  asked: Asked,
): Promise<Charted | 'too many' | undefined> {
  const { of, by, period, problem } = asked;
  if (problem !== undefined) return undefined;
  const before = asLongBefore(period);
  if (isOfReceipts(of)) {
    const report = await usageOf(deps, orgId, asked);
    const reportBefore = await deps.usage.usage({ orgId, range: before, groupBy: [period.step] });
    if (!hasGroups(report) || !hasGroups(reportBefore)) return 'too many';
    return chartOfUsage({ of, period, before, report, reportBefore, isByNothing: by === '' });
  }
  const order = of === 'errors' ? 'errors' : 'requests';
  const counts = { orgId, order, limit: 1, time: timeOf(of) } as const;
  const all = await deps.requestCounts({ ...counts, ...period, by: 'all' });
  const allBefore = await deps.requestCounts({ ...counts, ...before, by: 'all' });
  const named =
    by === ''
      ? undefined
      : await deps.requestCounts({
          ...counts,
          ...period,
          ...countedBy(by),
          limit: PARTS_SHOWN + 1,
        });
  return chartOfCounts({ of, period, before, all, allBefore, named });
}

type Grouped = UsageReport & { groups: NonNullable<UsageReport['groups']> };
const hasGroups = (report: UsageReport): report is Grouped => report.groups !== null;

const groupingOf = ({ by, period }: Asked): UsageGrouping[] =>
  by === '' ? [period.step] : [period.step, by as UsageGrouping];

const usageOf = (deps: DashboardDeps, orgId: string, asked: Asked): Promise<UsageReport> =>
  deps.usage.usage({
    orgId,
    range: { from: asked.period.from, to: asked.period.to },
    groupBy: groupingOf(asked),
  });

function countedBy(by: Exclude<Asked['by'], ''>): { by: CountedBy; tagKey?: string } {
  return by.startsWith('tag:')
    ? { by: 'tag', tagKey: by.slice(4) }
    : { by: by as Exclude<CountedBy, 'tag'> };
}

/** The figures of a chart as CSV: all names, not those alone that are drawn. */
async function fileOf(deps: DashboardDeps, orgId: string, asked: Asked) {
  const { of, by, period } = asked;
  const dates = [period.from, period.to - 1].map((at) => isoDay(at));
  const file = { name: `${of}-${dates.join('-')}.csv`, type: 'text/csv; charset=utf-8' };
  if (isOfReceipts(of)) {
    const report = await usageOf(deps, orgId, asked);
    if (!hasGroups(report)) {
      throw new PageError(400, 'There is no such file', 'Choose a shorter period.');
    }
    return { ...file, content: usageCsv(groupingOf(asked), report.groups, report.currency) };
  }
  const rows = await deps.requestCounts({
    orgId,
    ...period,
    ...(by === '' ? { by: 'all' } : countedBy(by)),
    order: of === 'errors' ? 'errors' : 'requests',
    limit: CSV_NAMES_MAX,
    time: timeOf(of) ?? 'total',
  });
  return { ...file, content: countsCsv(asked, rows) };
}

function countsCsv({ of, by, period }: Asked, rows: readonly CountsRow[]): string {
  const time = timeOf(of) ?? COUNTED_TIMES[0];
  const heads = [
    period.step,
    ...(by === '' ? [] : [by.replace(':', '_')]),
    'requests',
    'refused',
    'failed',
    'client_left',
    ...PERCENTILES.map((share) => `${time}_${percentileName(share)}_ms`),
  ];
  const lines = rows.map(({ at, name, requests, refused, failed, gone, times }) =>
    csvLine([
      timeText(at),
      ...(by === ''
        ? []
        : [fieldOfOthers(by.startsWith('tag:') ? name.slice(name.indexOf('=') + 1) : name)]),
      requests,
      refused,
      failed,
      gone,
      ...PERCENTILES.map((share) => {
        const value = percentileOf(times, share);
        return value === undefined ? '' : Math.round(value);
      }),
    ]),
  );
  return csvLine(heads) + lines.join('');
}
