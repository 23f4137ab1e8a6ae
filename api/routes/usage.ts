import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import { USAGE_GROUPS, type UsageFigures, type UsageReader } from '#shared/receipts/port-usage.ts';
import { timeOf, TimeText } from './times.ts';

const DAY_MS = 86_400_000;
/** A year and a day: leap years fit. */
const PERIOD_DAYS_MAX = 366;
const PERIOD_DAYS_DEFAULT = 30;
/** Sums of a million binary64 figures agree with exact ones to this many digits. */
const DIGITS = 9;

const Query = Type.Object({
  from: Type.Optional(TimeText),
  to: Type.Optional(TimeText),
  group_by: Type.Union(
    USAGE_GROUPS.map((name) => Type.Literal(name)),
    { default: 'day' },
  ),
});

const Count = Type.Integer({ minimum: 0 });
const Amount = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'A decimal of nine significant digits',
});
const figures = {
  requests: Type.Integer({ minimum: 0, description: 'Each counted once, refused ones included' }),
  refused: Type.Integer({ minimum: 0, description: 'Blocked by screening: nothing ran' }),
  covered: Type.Integer({
    minimum: 0,
    description: 'Requests whose current receipt has a measurement; the amounts are theirs',
  }),
  uncovered: Type.Integer({
    minimum: 0,
    description: 'Requests whose current receipt is degraded: their footprint is in no amount',
  }),
  input_tokens: Count,
  cached_input_tokens: Count,
  output_tokens: Count,
  energy_kwh: Amount,
  gwp_kgco2e: Amount,
  water_l: Amount,
  adpe_kgsbe: Amount,
  adpf_mj: Amount,
};
const Usage = Type.Object(
  {
    object: Type.Literal('usage'),
    from: Type.String({ format: 'date-time' }),
    to: Type.String({ format: 'date-time' }),
    group_by: Type.String({ enum: [...USAGE_GROUPS] }),
    data: Type.Array(
      Type.Object({
        group: Type.String({ description: 'A UTC day, or the id of a model, region or key' }),
        ...figures,
      }),
    ),
    total: Type.Object(figures),
  },
  { title: 'UsageReport' },
);

export interface UsageRoutesOptions {
  usage: UsageReader;
  /** Epoch milliseconds. */
  now: () => number;
}

/** What an organisation has used, and its footprint. */
export const usageRoutes: FastifyPluginAsyncTypebox<UsageRoutesOptions> = async (
  app,
  { usage, now },
) => {
  app.get(
    '/usage',
    {
      config: { scope: 'service:read' },
      schema: {
        tags: ['Usage'],
        summary: 'Requests, tokens and footprint of a period',
        querystring: Query,
        response: { 200: Usage },
      },
    },
    async (request) => {
      const { group_by: groupBy } = request.query;
      const period = periodOf(request.query, now());
      const { orgId } = request.credential;
      const groups = await usage.usage({ orgId, ...period, groupBy });
      return {
        object: 'usage' as const,
        from: new Date(period.from).toISOString(),
        to: new Date(period.to).toISOString(),
        group_by: groupBy,
        data: groups.map((group) => ({ group: group.group, ...describe(group) })),
        total: describe(totalOf(groups)),
      };
    },
  );
};

/** The last thirty days unless told otherwise. @throws Fault `invalid_from`, `invalid_to` */
function periodOf(
  query: { from?: string; to?: string },
  now: number,
): { from: number; to: number } {
  const to = query.to === undefined ? now : timeOf('to', query.to);
  const from =
    query.from === undefined ? to - PERIOD_DAYS_DEFAULT * DAY_MS : timeOf('from', query.from);
  if (from < 0) throw invalidParam('from', '`from` must not be before 1970.');
  if (to <= from) throw invalidParam('to', '`to` must be after `from`.');
  if (to - from > PERIOD_DAYS_MAX * DAY_MS) {
    throw invalidParam('to', `A period is at most ${PERIOD_DAYS_MAX} days.`);
  }
  return { from, to };
}

function totalOf(groups: readonly UsageFigures[]): UsageFigures {
  const sum = (of: keyof UsageFigures): number =>
    groups.reduce((total, each) => total + each[of], 0);
  return {
    requests: sum('requests'),
    refused: sum('refused'),
    covered: sum('covered'),
    uncovered: sum('uncovered'),
    inputTokens: sum('inputTokens'),
    cachedInputTokens: sum('cachedInputTokens'),
    outputTokens: sum('outputTokens'),
    energy: sum('energy'),
    gwp: sum('gwp'),
    water: sum('water'),
    adpe: sum('adpe'),
    adpf: sum('adpf'),
  };
}

function describe(of: UsageFigures) {
  return {
    requests: of.requests,
    refused: of.refused,
    covered: of.covered,
    uncovered: of.uncovered,
    input_tokens: of.inputTokens,
    cached_input_tokens: of.cachedInputTokens,
    output_tokens: of.outputTokens,
    energy_kwh: amount(of.energy),
    gwp_kgco2e: amount(of.gwp),
    water_l: amount(of.water),
    adpe_kgsbe: amount(of.adpe),
    adpf_mj: amount(of.adpf),
  };
}

function amount(value: number): string {
  return toExactDecimalString(Number(value.toPrecision(DIGITS)));
}
