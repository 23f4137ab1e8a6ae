import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { csvLine } from '#shared/kernel/csv.ts';
import { DECIMAL_PATTERN } from '#shared/kernel/decimal.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { OTHER_VALUES, TAG_LENGTH_MAX, TAG_VALUES_A_DAY_MAX } from '#shared/kernel/tags.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { DATA_QUALITIES } from '#shared/methodology/measurement.ts';
import type { UsageReader } from '#shared/receipts/postgres/usage.ts';
import {
  groupingsOf,
  tagKeyOf,
  USAGE_AMOUNTS,
  USAGE_GROUPINGS_MAX,
  USAGE_GROUPS,
  USAGE_DAYS_DEFAULT,
  USAGE_DAYS_MAX,
  USAGE_ROWS_MAX,
  usageAnswer,
  usageFields,
  type UsageGrouping,
  type UsageRange,
  type UsageReport,
} from '#shared/receipts/usage.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { json, withExamples } from '#api/docs/operation.ts';
import { LogIndex, Span, spanOf } from './fields.ts';
import { refuseUnknownTag, tagIn } from './known-tags.ts';

const CSV = 'text/csv';

const Query = Type.Object({
  ...Span.properties,
  first_index: Type.Optional(LogIndex),
  last_index: Type.Optional(LogIndex),
  group_by: Type.String({
    maxLength: 128,
    default: 'day',
    description: `One to ${USAGE_GROUPINGS_MAX} of ${USAGE_GROUPS.join(', ')}, with commas between; one of them may be \`tag:\` and a tag of your organisation`,
    examples: ['day', 'month,model', 'tag:team'],
  }),
  tag: Type.Optional(
    Type.String({
      maxLength: TAG_LENGTH_MAX,
      description: 'Of requests with this tag alone',
      examples: ['team=search'],
    }),
  ),
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('csv')], {
      description: 'The same as `Accept: text/csv`',
    }),
  ),
});

const Count = Type.Integer({ minimum: 0 });
const Amount = Type.String({ pattern: DECIMAL_PATTERN, description: 'An exact decimal' });

const amounts = Object.fromEntries(
  USAGE_AMOUNTS.flatMap(([, field]) => [
    [field, Amount],
    [`${field}_lower`, Amount],
    [`${field}_upper`, Amount],
  ]),
);
const figures = {
  requests: Type.Integer({
    minimum: 0,
    description: 'Each counted once, refused and failed ones included',
  }),
  refused: Type.Integer({ minimum: 0, description: 'Blocked by screening: nothing ran' }),
  failed: Type.Integer({
    minimum: 0,
    description:
      'An upstream was called and nothing came of it: what that used is not known, and is in no amount',
  }),
  covered: Type.Integer({
    minimum: 0,
    description: 'Requests whose current receipt has a measurement; the amounts are theirs',
  }),
  uncovered: Type.Integer({
    minimum: 0,
    description: 'Requests whose current receipt is degraded: their footprint is in no amount',
  }),
  coverage: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description:
      'The covered share of the requests that neither failed nor were refused, rounded down; null where there is none',
  }),
  coverage_with_failed: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description:
      'The covered share of all requests for which an upstream was called, failed ones included, rounded down; null where there is none',
  }),
  input_tokens: Count,
  cached_input_tokens: Count,
  output_tokens: Count,
  uncovered_input_tokens: Type.Integer({
    minimum: 0,
    description: 'The part of `input_tokens` that belongs to uncovered requests',
  }),
  uncovered_cached_input_tokens: Count,
  uncovered_output_tokens: Count,
  data_quality: Type.Object(Object.fromEntries(DATA_QUALITIES.map((tier) => [tier, Count])), {
    description: 'Covered requests by the tier of their data',
  }),
};
const Cost = Type.Object(
  {
    amount: Amount,
    currency: Type.String({ description: 'As ISO 4217 writes it' }),
    requests: Type.Integer({ minimum: 0, description: 'Requests that had a price' }),
  },
  {
    description:
      'What the price list of this gateway gives for the tokens of these requests, exactly: no invoice. Absent where the gateway has had no prices',
  },
);
const Usage = Type.Object(
  {
    object: Type.Literal('usage'),
    from: Type.Optional(Type.String({ format: 'date-time' })),
    to: Type.Optional(Type.String({ format: 'date-time' })),
    first_index: Type.Optional(LogIndex),
    last_index: Type.Optional(LogIndex),
    ledger_size: Type.Integer({
      minimum: 0,
      description: 'Entries of the ledger that the figures are of',
    }),
    group_by: Type.String(),
    data: Type.Array(
      Type.Object({
        group: Type.String({
          description: 'The names of `by`; of several, with a comma and a space between',
        }),
        by: Type.Object(
          {},
          {
            additionalProperties: Type.String(),
            description: `The name by each grouping: \`2026-11-20T14:00:00Z\`, \`2026-11-20\` or \`2026-11\` (UTC); the id of a model, region or key; a tier; a tier of data; the value of a tag. Empty where a request has none, and \`${OTHER_VALUES}\` for values of a tag beyond the first ${TAG_VALUES_A_DAY_MAX} of a day`,
          },
        ),
        ...figures,
        ...amounts,
        cost: Type.Optional(Cost),
      }),
    ),
    total: Type.Object({ ...figures, ...amounts, cost: Type.Optional(Cost) }),
  },
  { title: 'UsageReport' },
);

const FIGURES = {
  requests: 1206,
  refused: 3,
  failed: 2,
  covered: 1198,
  uncovered: 3,
  coverage: 0.9975,
  coverage_with_failed: 0.9958,
  input_tokens: 402_118,
  cached_input_tokens: 96_000,
  output_tokens: 351_902,
  uncovered_input_tokens: 1_102,
  uncovered_cached_input_tokens: 0,
  uncovered_output_tokens: 873,
  data_quality: { T1: 0, TS: 0, T2: 1198, T3: 0, T4: 0, T5: 0 },
  energy_kwh: '0.10441822947321',
  energy_kwh_lower: '0.05120073312004',
  energy_kwh_upper: '0.21295133107712',
  gwp_kgco2e: '0.005891312020171',
  gwp_kgco2e_lower: '0.002604007712905',
  gwp_kgco2e_upper: '0.013328640011871',
  water_l: '0.38812044703115',
  water_l_lower: '0.12230041177209',
  water_l_upper: '1.23171200491873',
  adpe_kgsbe: '0.000000019002211703',
  adpe_kgsbe_lower: '0.000000006334070567',
  adpe_kgsbe_upper: '0.000000057006635109',
  adpf_mj: '1.01288311024551',
  adpf_mj_lower: '0.33762770341517',
  adpf_mj_upper: '3.03864933073653',
  cost: { amount: '0.2814203', currency: 'EUR', requests: 1201 },
};
const USAGE: Static<typeof Usage> = {
  object: 'usage',
  from: '2026-11-20T00:00:00.000Z',
  to: '2026-11-21T00:00:00.000Z',
  ledger_size: 1206,
  group_by: 'day',
  data: [{ group: '2026-11-20', by: { day: '2026-11-20' }, ...FIGURES }],
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
  const answer = json('The figures.', Usage, { usage: USAGE });
  app.get(
    '/usage',
    {
      config: { scope: 'service:read' },
      schema: {
        operationId: 'retrieveUsage',
        tag: 'Usage',
        summary: 'Read usage and footprint of a period',
        description: `Requests, tokens and the footprint of your organisation, by time, model, region, key, tier, quality of data or a tag. Each request counts once, as its current receipt says, where its first receipt lies: in time (\`from\` included, \`to\` excluded; at most ${USAGE_DAYS_MAX} days, the last ${USAGE_DAYS_DEFAULT} when nothing is named), or in the ledger (\`first_index\` and \`last_index\`, both included, as exports have them: then figures are those of an evidence pack of this range at \`ledger_size\` entries). Receipts count when they are in the ledger, which is within seconds. Amounts are exact sums over \`covered\` requests and always stand beside the counts of \`uncovered\` and of \`failed\` ones; \`_lower\` and \`_upper\` are sums of the bounds, since errors of receipts are taken as fully correlated. Groups add up to the total, to the digit, those by a tag too: requests without it are a group with an empty name. Of each tag the first ${TAG_VALUES_A_DAY_MAX} values of a day (UTC) are counted by themselves, and those that a budget is of; the others are counted together as \`${OTHER_VALUES}\`, and a filter does not find them. \`cost\` is what the prices of the gateway's catalogue give, and there only where it has prices. Answers are JSON or, with \`Accept: text/csv\` or \`format=csv\`, a line for each group.`,
        querystring: Query,
        response: {
          200: {
            ...answer,
            content: {
              ...answer.content,
              [CSV]: withExamples(Type.String(), {
                usage: csvOf(['day'], [{ by: ['2026-11-20'], figures: FIGURES }], true),
              }),
            },
          },
        },
        errors: [
          'invalid_from',
          'invalid_to',
          'invalid_first_index',
          'invalid_last_index',
          'invalid_group_by',
          'invalid_tag',
        ],
      },
    },
    async (request, reply) => {
      const groupBy = groupingsOf(request.query.group_by);
      const range = rangeOf(request.query, now());
      const tag = await tagAsked(usage, request.credential, { groupBy, asked: request.query.tag });
      const { orgId } = request.credential;
      const report = await usage.usage({ orgId, range, groupBy, tag });
      if ('lastIndex' in range) checkRange(request.query, report);
      const groups = report.groups ?? tooMany();
      void reply.header('vary', 'accept');
      if (wantsCsv(request, request.query.format)) {
        return reply.type(`${CSV}; charset=utf-8`).send(usageCsv(groupBy, groups, report.currency));
      }
      return usageAnswer(report, groups, { groupBy, range });
    },
  );
};

/**
 * The tag that requests are filtered by. Requests are counted once for each tag that they have, so that what two of them have in
 * common is not known.
 * @throws Fault `invalid_tag`, `invalid_group_by`
 */
async function tagAsked(
  usage: UsageReader,
  credential: Pick<Credential, 'orgId' | 'tags'>,
  { groupBy, asked }: { groupBy: readonly UsageGrouping[]; asked: string | undefined },
): Promise<{ key: string; value: string } | undefined> {
  const tag = asked === undefined ? undefined : tagIn(asked);
  const [by, ...more] = groupBy.map(tagKeyOf).filter((key) => key !== undefined);
  if (more.length > 0 || (by !== undefined && tag !== undefined && by !== tag.key))
    throw invalidParam('group_by', 'Usage can be grouped or filtered by one tag, not by two.');
  const asks = by === undefined ? { key: tag?.key, param: 'tag' } : { key: by, param: 'group_by' };
  if (asks.key !== undefined) await refuseUnknownTag(usage, credential, { ...asks, key: asks.key });
  return tag;
}

function tooMany(): never {
  const message = `There are more than ${USAGE_ROWS_MAX} groups. Ask for a shorter period, or fewer groupings.`;
  throw invalidParam('group_by', message);
}

/** Browsers name some hundred and fifty. */
const ACCEPT_CHARS_MAX = 1_024;

/** CSV where it is asked for by name, or accepted and JSON is not. */
function wantsCsv({ headers }: FastifyRequest, format: 'json' | 'csv' | undefined): boolean {
  if (format !== undefined) return format === 'csv';
  const { accept = '' } = headers;
  // An endless list asks for nothing by name.
  if (accept.length > ACCEPT_CHARS_MAX) return false;
  const accepted = accept.split(',').map((type) => type.split(';')[0]!.trim());
  return accepted.includes(CSV) && !accepted.includes('application/json');
}

/** The last thirty days unless told otherwise. @throws Fault `invalid_from`, `invalid_to`, `invalid_first_index` */
function rangeOf(query: Static<typeof Query>, now: number): UsageRange {
  const { first_index: first, last_index: last } = query;
  const span = spanOf(query);
  if (first !== undefined || last !== undefined) {
    if (span.from !== undefined || span.to !== undefined) {
      throw invalidParam('from', 'Name a range by time or by index, not by both.');
    }
    const range = { firstIndex: first ?? 0, lastIndex: last ?? Number.MAX_SAFE_INTEGER };
    if (range.firstIndex <= range.lastIndex) return range;
    const message = 'The range is empty: the first index lies after the last.';
    throw invalidParam('first_index', message);
  }
  const to = span.to ?? now;
  const from = span.from ?? to - USAGE_DAYS_DEFAULT * DAY_MS;
  if (from < 0) throw invalidParam('from', '`from` must not be before 1970.');
  if (to <= from) throw invalidParam('to', '`to` must be after `from`.');
  if (to - from > USAGE_DAYS_MAX * DAY_MS) {
    throw invalidParam('to', `A period is at most ${USAGE_DAYS_MAX} days.`);
  }
  return { from, to };
}

/** @throws Fault `invalid_first_index`, `invalid_last_index` where the ledger does not reach so far */
function checkRange(query: Static<typeof Query>, { ledgerSize }: UsageReport): void {
  const message = `The ledger has ${ledgerSize} entries, from index 0.`;
  if ((query.last_index ?? -1) >= ledgerSize) throw invalidParam('last_index', message);
  if ((query.first_index ?? -1) >= ledgerSize) throw invalidParam('first_index', message);
}

/** The groups of a report as CSV, every figure exact. */
export function usageCsv(
  groupBy: readonly UsageGrouping[],
  groups: NonNullable<UsageReport['groups']>,
  currency: string | null,
): string {
  return csvOf(
    groupBy,
    groups.map(({ names, ...each }) => ({ by: names, figures: usageFields(each, currency) })),
    currency !== null,
  );
}

/** A line for each group; the tiers of data are columns, and with prices money is, also where there is no line. */
function csvOf(
  groupBy: readonly UsageGrouping[],
  groups: readonly { by: readonly string[]; figures: ReturnType<typeof usageFields> }[],
  hasMoney: boolean,
): string {
  const columns = (
    of:
      | (Partial<Pick<typeof FIGURES, 'cost'>> & Omit<typeof FIGURES, 'cost'>)
      | ReturnType<typeof usageFields>,
  ) => {
    const { data_quality: quality, cost, ...rest } = of;
    const money = cost && {
      cost: cost.amount,
      currency: cost.currency,
      priced_requests: cost.requests,
    };
    return { ...rest, ...quality, ...money };
  };
  const { cost: _money, ...bare } = FIGURES;
  const header = csvLine([...groupBy, ...Object.keys(columns(hasMoney ? FIGURES : bare))]);
  const lines = groups.map(({ by, figures: each }) => {
    const values = Object.values<string | number | null>(columns(each));
    return csvLine([...by, ...values.map((value) => value ?? '')]);
  });
  return header + lines.join('');
}
