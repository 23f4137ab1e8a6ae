import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { CODES } from '#shared/kernel/error-codes.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { TAG_LENGTH_MAX } from '#shared/kernel/tags.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import type { UsageReader } from '#shared/receipts/postgres/usage.ts';
import type { RequestReader } from '#shared/requests/postgres/requests.ts';
import {
  LOOKED_THROUGH_MAX,
  requestFacts,
  type RequestRow,
  type StatusFilter,
  statusFilterOf,
} from '#shared/requests/row.ts';
import { Nullable, pathId, Span, spanOf, Time } from './fields.ts';
import { refuseUnknownNames } from './known-names.ts';
import { refuseUnknownTag, tagIn } from './known-tags.ts';
import { Listing, listOf, listSchema } from './lists.ts';

const REQUEST_ID = 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC';

const Count = Type.Integer({ minimum: 0 });
const milliseconds = (description: string) =>
  Nullable(Type.Integer({ minimum: 0, description: `Milliseconds ${description}` }));

export const RequestRecord = Type.Object(
  {
    id: Type.String({ description: 'As `x-request-id` has it' }),
    object: Type.Literal('request'),
    created_at: Time,
    key_id: Type.String(),
    route: Nullable(
      Type.String({
        description:
          'Method and pattern of the route; null where the request was refused before it was routed, and for requests counted together that do not have it in common',
      }),
    ),
    status: Type.Integer({
      description:
        'Of HTTP. 499: the client left before the end of the answer. A stream that broke has 200 and a `code`',
    }),
    code: Nullable(Type.String({ description: 'Of the error; null where there was none' })),
    model: Nullable(Type.String({ description: 'Id of the model that was chosen' })),
    requested_model: Nullable(
      Type.String({
        description:
          'The name that the request had for it, where that is another: at most 128 characters',
      }),
    ),
    region: Nullable(Type.String({ description: 'Where it ran' })),
    stream: Nullable(Type.Boolean({ description: 'Null where no model was asked for' })),
    network: Nullable(
      Type.String({
        description:
          'Where it came from: an address of IPv4, or the /64 of one of IPv6. Null where a row stands for requests from several',
      }),
    ),
    tags: Type.Array(Type.String(), {
      description:
        'Each as `key=value`: members of its `metadata` that the organisation has declared. Empty where it was refused before its body was read, and where the row stands for several that had not all the same',
    }),
    input_tokens: Nullable(Count),
    output_tokens: Nullable(Count),
    queued_ms: milliseconds('from the request to the upstream call that was answered'),
    first_ms: milliseconds('from the request to the first of a stream'),
    total_ms: Type.Integer({
      minimum: 0,
      description: 'Milliseconds from the request to the end of its answer',
    }),
    upstream_calls: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'Failed ones included; null where there was none, or it is not known',
      }),
    ),
    receipt_id: Nullable(
      Type.String({
        description:
          'Null where there is none: nothing ran, or no upstream was called that did not refuse it. One that failed after a call has a receipt with the outcome `failed`',
      }),
    ),
    replayed: Type.Boolean({
      description: 'It was given the answer, and the receipt, of an identical request',
    }),
    requests: Type.Integer({
      minimum: 1,
      description:
        'More than 1 where the row stands for requests of one key that took nothing of the daily budget: refusals with one code, and what was read, or answered again, by one route with one status. Beyond ten a minute they are counted together',
    }),
    last_at: Nullable(Type.String({ description: 'When the last of those came, RFC 3339, UTC' })),
  },
  { title: 'Request' },
);

/** One to show. */
export const REQUEST_SHOWN: Static<typeof RequestRecord> = {
  id: REQUEST_ID,
  object: 'request',
  created_at: '2026-11-20T14:31:25.412Z',
  key_id: 'key_01M7VZ8Q3JX1S5Y0B2RG6T4WNE',
  route: 'POST /v1/chat/completions',
  status: 200,
  code: null,
  model: 'llama-3.1-8b',
  requested_model: null,
  region: 'eu-west',
  stream: true,
  network: '203.0.113.7',
  tags: ['team=search'],
  input_tokens: 21,
  output_tokens: 28,
  queued_ms: 6,
  first_ms: 212,
  total_ms: 1_904,
  upstream_calls: 1,
  receipt_id: 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  replayed: false,
  requests: 1,
  last_at: null,
};
const REFUSED: Static<typeof RequestRecord> = {
  ...REQUEST_SHOWN,
  id: 'req_01M7W5411AB7V0C6P9HQ3ND2XK',
  created_at: '2026-11-20T14:31:26.954Z',
  status: 429,
  code: 'requests_per_second_exceeded',
  region: null,
  input_tokens: null,
  output_tokens: null,
  queued_ms: null,
  first_ms: null,
  total_ms: 2,
  upstream_calls: null,
  receipt_id: null,
  requests: 381,
  last_at: '2026-11-20T14:32:14.020Z',
};

const Query = Type.Object({
  ...Listing.properties,
  status: Type.Optional(
    Type.String({
      maxLength: 6,
      description:
        '`ok`: answered without an error; `failed`: with a code of one; `2xx`, `4xx`, `5xx`; or a status of HTTP',
      examples: ['failed', '429'],
    }),
  ),
  code: Type.Optional(Type.String({ maxLength: 128, description: 'Of an error' })),
  model: Type.Optional(
    Type.String({ maxLength: 300, description: 'Id of the model, or an alias that it has now' }),
  ),
  region: Type.Optional(Type.String({ maxLength: 64 })),
  key: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Id of the key that the request had; `self`: the key that asks',
    }),
  ),
  tag: Type.Optional(
    Type.String({
      maxLength: TAG_LENGTH_MAX,
      description: 'A key and a value with `=` between',
      examples: ['team=search'],
    }),
  ),
  ...Span.properties,
});

export interface RequestRoutesOptions {
  requests: Pick<RequestReader, 'list' | 'get' | 'hasFailedWith'>;
  ledger: Pick<LedgerReader, 'hasSeen'>;
  usage: Pick<UsageReader, 'hasTag'>;
  /** The catalogue as it is now. */
  index: () => RoutingIndex;
}

const CONFIG = { scope: 'service:read' } as const;
/** As a filter, the key that asks, which does not know its own id. */
const SELF = 'self';

/** What became of every request that had a valid key. */
export const requestRoutes: FastifyPluginAsyncTypebox<RequestRoutesOptions> = async (
  app,
  options,
) => {
  const { requests, index } = options;
  app.get(
    '/requests',
    {
      config: CONFIG,
      schema: {
        operationId: 'listRequests',
        tag: 'Requests',
        summary: 'List requests',
        description:
          'What became of every request with one of your keys, newest first: refused and failed ones too, without any text. They are kept for 30 days, unless the operator has set another time, and are here about a second after their answers have ended. Beyond ten a minute of one key that took nothing of the daily budget and came to the same (refused with one code; read, or answered again, by one route with one status), one row stands for the rest. A process of the gateway that is killed loses what it has not written yet, a second of answers and a minute of what is counted together: tokens and footprint are counted by `GET /v1/usage`, errors and times are found here. `from` is included and `to` is not, by the time of the request. For one page at most 200,000 rows are looked through: where none of them fits the filters and there are more, `from` is refused, and a shorter time is to be named.',
        querystring: Query,
        response: {
          200: json(
            'A page.',
            Type.Object(listSchema(RequestRecord).properties, { title: 'RequestList' }),
            {
              page: listOf({ items: [REFUSED, REQUEST_SHOWN], hasMore: false }),
            },
          ),
        },
        errors: [
          'invalid_limit',
          'invalid_after',
          'invalid_status',
          'invalid_code',
          'invalid_model',
          'invalid_region',
          'invalid_key',
          'invalid_tag',
          'invalid_from',
          'invalid_to',
        ],
      },
    },
    async (request) => {
      const { from, to, status, ...filters } = request.query;
      const { credential } = request;
      if (filters.key === SELF) filters.key = credential.keyId;
      // Rows have the model's own name.
      if (filters.model !== undefined)
        filters.model = index().byName.get(filters.model)?.model.id ?? filters.model;
      if (filters.tag !== undefined)
        await refuseUnknownTag(options.usage, credential, {
          key: tagIn(filters.tag).key,
          param: 'tag',
        });
      const span = spanOf({ from, to });
      const asked = { ...filters, status: statusOf(status) };
      await refuseUnknown(options, credential, filters);
      const page = await requests.list({ orgId: credential.orgId, ...asked, ...span });
      if (page.isNoneAmongMany)
        throw invalidParam(
          'from',
          `None of ${LOOKED_THROUGH_MAX.toLocaleString('en-US')} requests of that time fits the filter, and there are more. Name a shorter time by \`from\` and \`to\`.`,
        );
      return listOf({ items: page.items.map(describeRequest), hasMore: page.hasMore });
    },
  );
  app.get(
    '/requests/:id',
    {
      config: CONFIG,
      schema: {
        operationId: 'retrieveRequest',
        tag: 'Requests',
        summary: 'Read what became of a request',
        description:
          'Status, error, times, tokens and receipt of one request, by the id that its answer had in `x-request-id`. A request that a row counts together with others has no row of its own.',
        params: pathId('Id of the request', REQUEST_ID),
        response: {
          200: json('The request.', RequestRecord, { answered: REQUEST_SHOWN, refused: REFUSED }),
        },
        errors: ['request_not_found'],
      },
    },
    async (request) => {
      const row = await requests.get(request.credential.orgId, request.params.id);
      if (row === null) throw new Fault('request_not_found');
      return describeRequest(row);
    },
  );
};

export function describeRequest(row: RequestRow): Static<typeof RequestRecord> {
  return {
    id: row.id,
    object: 'request',
    ...requestFacts(row),
    replayed: row.replayOf !== null,
  };
}

/** @throws Fault `invalid_status` */
function statusOf(text: string | undefined): StatusFilter | undefined {
  const filter = text === undefined ? undefined : statusFilterOf(text);
  if (text === undefined || filter !== undefined) return filter;
  throw invalidParam(
    'status',
    '`status` must be `ok`, `failed`, `2xx`, `4xx`, `5xx` or a status of HTTP.',
  );
}

/**
 * A name that is a mistake would otherwise be taken for one that no request had.
 * @throws Fault `invalid_code`, `invalid_model`, `invalid_region`, `invalid_key`
 */
async function refuseUnknown(
  { requests, ledger, index }: RequestRoutesOptions,
  credential: Credential,
  { code, ...names }: Pick<Static<typeof Query>, 'code' | 'model' | 'region' | 'key'>,
): Promise<void> {
  // Codes that name a parameter are as many as callers make up: those are looked for.
  if (code !== undefined && !Object.hasOwn(CODES, code))
    if (!(await requests.hasFailedWith(credential.orgId, code)))
      throw invalidParam('code', 'There is no such code, and no request has failed with it.');
  await refuseUnknownNames({ ledger, index }, credential, names);
}
