import type { FastifyInstance, FastifyRequest } from 'fastify';
import { usageCsv } from '#api/routes/usage.ts';
import { type Account, limitsOf } from '#shared/accounts/account.ts';
import type { Price } from '#shared/catalogue/catalogue.ts';
import { isOpenTo } from '#shared/catalogue/routing.ts';
import { TAG_LENGTH_MAX, TAG_WRITTEN, tagOf } from '#shared/kernel/tags.ts';
import { DAY_MS, HOUR_MS, isoDay } from '#shared/kernel/time.ts';
import { groupingOf, tagKeyOf, type UsageGrouping } from '#shared/receipts/usage.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor, askedForDay } from '../forms.ts';
import { sendFile, sendFramed, SESSION } from '../guard.ts';
import { type Breakdown, BREAKDOWNS, overviewPage, PERIODS } from './overview.ts';
import { keyNames } from '../keys/names.ts';
import { listed } from '../receipts/page.ts';
import { type ListedPrice, usagePage } from './page.ts';
import { periodBefore } from './periods.ts';
import { PageError } from '../page-error.ts';

/** Receipts that the overview shows. */
const NEWEST = 5;
/** A leap year fits. */
const PERIOD_DAYS_MAX = 366;

/** What an organisation used: an overview, and a table to ask of. */
export function usagePageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/overview', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const days = PERIODS.find((each) => String(each) === askedFor(request, 'days')) ?? 30;
    const asked = askedFor(request, 'by');
    const by: Breakdown = Object.hasOwn(BREAKDOWNS, asked) ? (asked as Breakdown) : 'model';
    const today = startOfDay(deps.now());
    const range = { from: today - (days - 1) * DAY_MS, to: today + DAY_MS };
    // Whole hours, the present one included, are read from their sums.
    const end = Math.ceil(deps.now() / HOUR_MS) * HOUR_MS;
    const lately = { from: end - DAY_MS, to: end };
    // One after the other: a page has one of the few connections that all pages have together.
    const byDay = await deps.usage.usage({ orgId, range, groupBy: ['day'] });
    const byName = await deps.usage.usage({ orgId, range, groupBy: [by] });
    const byHour = await deps.usage.usage({ orgId, range: lately, groupBy: ['hour'] });
    const newest = await deps.ledger.listReceipts({ orgId, limit: NEWEST, order: 'desc' });
    const parts = {
      days,
      by,
      ...range,
      byDay,
      byName,
      newest: newest.items.map(listed),
      keyNames: by === 'key' ? await keyNames(deps, orgId) : new Map(),
      limits: limitsOf(await deps.accounts.get(orgId)),
      busiestHour: Math.max(0, ...(byHour.groups ?? []).map(({ requests }) => requests)),
      today: byDay.groups?.find(({ names }) => names[0] === isoDay(today))?.requests ?? 0,
    };
    return sendFramed(deps, [request, reply], {
      title: 'Overview',
      section: 'overview',
      body: (frame) => overviewPage(frame, parts),
    });
  });
  app.get('/usage', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { from, to, groupBy, tag, range, problem } = askedUsage(request, deps.now());
    const report = range && (await deps.usage.usage({ orgId, range, groupBy, tag: tagOf(tag) }));
    const before = range && periodBefore(range);
    const account = await deps.accounts.get(orgId);
    const parts = {
      from,
      to,
      groupBy,
      tags: account.tags,
      before: before && {
        ...before,
        figures: (
          await deps.usage.usage({ orgId, range: before, groupBy: ['month'], tag: tagOf(tag) })
        ).total,
      },
      prices: pricesFor(deps, account),
      tag,
      report,
      problem,
      range,
      keyNames: groupBy.includes('key') ? await keyNames(deps, orgId) : new Map(),
    };
    return sendFramed(deps, [request, reply], {
      title: 'Usage',
      section: 'usage',
      status: problem === undefined ? 200 : 400,
      body: (frame) => usagePage(frame, parts),
    });
  });
  app.get('/usage.csv', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { from, to, groupBy, tag, range, problem } = askedUsage(request, deps.now());
    const report = range && (await deps.usage.usage({ orgId, range, groupBy, tag: tagOf(tag) }));
    if (report?.groups == null) {
      throw new PageError(400, 'There is no such table', problem ?? 'Choose a shorter period.');
    }
    return sendFile(reply, {
      name: `usage-${from}-${to}.csv`,
      type: 'text/csv; charset=utf-8',
      content: usageCsv(groupBy, report.groups, report.currency),
    });
  });
}

/** The price list of what an organisation may use: what is valid, and what will be. */
function pricesFor(deps: DashboardDeps, account: Account): ListedPrice[] {
  const { models, regions, currency } = deps.index();
  if (currency === null) return [];
  const now = deps.now();
  const asks = { orgId: account.id, plan: account.plan };
  const isHere = (code: string | undefined): boolean => {
    const region = code === undefined ? undefined : regions.get(code);
    return code === undefined || (region !== undefined && isOpenTo(region, asks));
  };
  return [...models.values()]
    .filter(({ model }) => isOpenTo(model, asks))
    .filter(({ model }) => account.allowedModels?.includes(model.id) ?? true)
    .flatMap(({ model: { id, prices = [] } }) =>
      prices
        .filter((price) => isHere(price.region) && !isOver(price, prices, now))
        .map((price) => ({ ...price, model: id })),
    );
}

/** Whether a younger price for the same place has begun. */
function isOver(price: Price, prices: readonly Price[], now: number): boolean {
  return prices.some(
    ({ from, region, endpoint }) =>
      from > price.from && from <= now && region === price.region && endpoint === price.endpoint,
  );
}

/** What the address asks for: the last thirty days by day and model, unless it says otherwise. */
function askedUsage(request: FastifyRequest, now: number) {
  const grouping = (name: string): UsageGrouping | undefined => groupingOf(askedFor(request, name));
  const isAsked = askedFor(request, 'by') !== '';
  const by = grouping('by') ?? 'day';
  const and = isAsked ? grouping('and') : 'model';
  const groupBy = and === undefined || and === by ? [by] : [by, and];
  const today = startOfDay(now);
  const from = askedFor(request, 'from') || isoDay(today - 29 * DAY_MS);
  const to = askedFor(request, 'to') || isoDay(today);
  const [first, last] = [askedForDay(from), askedForDay(to)];
  const tag = askedFor(request, 'tag').slice(0, TAG_LENGTH_MAX);
  const asked = { from: from.slice(0, 10), to: to.slice(0, 10), groupBy, tag };
  const problem = problemOf(first, last) ?? problemOfTags(groupBy, tag);
  if (problem !== undefined) return { ...asked, range: undefined, problem };
  return { ...asked, range: { from: first!, to: last! + DAY_MS }, problem: undefined };
}

/** Requests are counted once for each tag that they have: what two of them have in common is not known. */
function problemOfTags(groupBy: readonly UsageGrouping[], tag: string): string | undefined {
  const filter = tagOf(tag);
  if (tag !== '' && filter === undefined)
    return `The tag must be ${TAG_WRITTEN.replaceAll('`', '')}.`;
  const keys = new Set(groupBy.flatMap((each) => tagKeyOf(each) ?? []));
  if (filter !== undefined) keys.add(filter.key);
  return keys.size > 1 ? 'Usage can be shown by one tag at a time.' : undefined;
}

function problemOf(first: number | undefined, last: number | undefined): string | undefined {
  if (first === undefined || last === undefined) return 'Name both days, like 2026-11-22.';
  if (last < first) return 'The last day is before the first.';
  return last - first >= PERIOD_DAYS_MAX * DAY_MS ? 'A period is at most a year.' : undefined;
}

const startOfDay = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;
