import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { UsageReader } from '#shared/receipts/postgres/usage.ts';
import { USAGE_GROUPS, type UsageFigures } from '#shared/receipts/usage.ts';
import { json } from '#api/docs/operation.ts';
import { Span, spanOf } from './fields.ts';

const DAY_MS = 86_400_000;
/** A year and a day: leap years fit. */
const PERIOD_DAYS_MAX = 366;
const PERIOD_DAYS_DEFAULT = 30;
/** Sums of a million binary64 figures agree with exact ones to this many digits. */
const DIGITS = 9;

const Query = Type.Object({
  ...Span.properties,
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

const FIGURES = {
  requests: 1204,
  refused: 3,
  covered: 1198,
  uncovered: 3,
  input_tokens: 402_118,
  cached_input_tokens: 96_000,
  output_tokens: 351_902,
  energy_kwh: '0.104418229',
  gwp_kgco2e: '0.00589131202',
  water_l: '0.388120447',
  adpe_kgsbe: '0.0000000190022117',
  adpf_mj: '1.01288311',
};
const USAGE = {
  object: 'usage',
  from: '2026-11-20T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  group_by: 'day',
  data: [{ group: '2026-11-20', ...FIGURES }],
  total: FIGURES,
};

export interface UsageRoutesOptions {
  usage: UsageReader;
  /** Epoch milliseconds. */
  now: () => number;
}

/** The usage of an organisation, and its footprint. */
export const usageRoutes: FastifyPluginAsyncTypebox<UsageRoutesOptions> = async (
  app,
  { usage, now },
) => {
  app.get(
    '/usage',
    {
      config: { scope: 'service:read' },
      schema: {
        operationId: 'retrieveUsage',
        tag: 'Usage',
        summary: 'Read usage and footprint of a period',
        description:
          'Requests, tokens and the footprint of your organisation, by UTC day, model, region or key. Each request counts once; its footprint is that of its current receipt. Amounts are sums of medians over `covered` requests and always stand beside the count of `uncovered` ones. Sums are made in binary64 and given to nine digits. At most 366 days; the last 30 when no period is named.',
        querystring: Query,
        response: { 200: json('The figures.', Usage, { usage: USAGE }) },
        errors: ['invalid_from', 'invalid_to', 'invalid_group_by'],
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
function periodOf(query: Static<typeof Span>, now: number): { from: number; to: number } {
  const span = spanOf(query);
  const to = span.to ?? now;
  const from = span.from ?? to - PERIOD_DAYS_DEFAULT * DAY_MS;
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
