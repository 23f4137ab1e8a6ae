import type { Pool } from 'pg';
import { Fault } from '#shared/kernel/errors.ts';
import { firstRequestIdAt, isId } from '#shared/kernel/ids.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import { arraysOf, type GivenColumn, givenRows } from '#shared/kernel/postgres/given-rows.ts';
import { pageOf } from '#shared/kernel/postgres/page.ts';
import {
  execute,
  queryRow,
  queryRows,
  type Row,
  statement,
} from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { type CodeCount, LOOKED_THROUGH_MAX, type RequestRow, type StatusFilter } from '../row.ts';

/** The columns that are written, in their order. */
const WRITTEN: readonly GivenColumn<RequestRow>[] = [
  { name: 'id', type: 'text', of: ({ id }) => id },
  { name: 'org_id', type: 'text', of: ({ orgId }) => orgId },
  { name: 'key_id', type: 'text', of: ({ keyId }) => keyId },
  { name: 'route', type: 'text', of: ({ route }) => route },
  { name: 'status', type: 'int', of: ({ status }) => status },
  { name: 'code', type: 'text', of: ({ code }) => code },
  { name: 'model', type: 'text', of: ({ model }) => model },
  { name: 'requested_model', type: 'text', of: ({ requestedModel }) => requestedModel },
  { name: 'region', type: 'text', of: ({ region }) => region },
  { name: 'streamed', type: 'bool', of: ({ streamed }) => streamed },
  { name: 'network', type: 'text', of: ({ network }) => network },
  { name: 'tags', type: 'text', of: ({ tags }) => tags?.join(',') ?? null },
  { name: 'has_receipt', type: 'bool', of: ({ hasReceipt }) => hasReceipt },
  { name: 'replay_of', type: 'text', of: ({ replayOf }) => replayOf },
  { name: 'input_tokens', type: 'int', of: ({ inputTokens }) => inputTokens },
  { name: 'output_tokens', type: 'int', of: ({ outputTokens }) => outputTokens },
  { name: 'queued_ms', type: 'int', of: ({ queuedMs }) => queuedMs },
  { name: 'first_ms', type: 'int', of: ({ firstMs }) => firstMs },
  { name: 'total_ms', type: 'int', of: ({ totalMs }) => totalMs },
  { name: 'upstream_calls', type: 'int', of: ({ upstreamCalls }) => upstreamCalls },
  { name: 'requests', type: 'int', of: ({ requests }) => requests },
  { name: 'last_ms', type: 'int', of: ({ lastMs }) => lastMs },
];

const names = WRITTEN.map(({ name }) => name).join(', ');
/** No tag has a comma. */
const stored = WRITTEN.map(({ name }) =>
  name === 'tags' ? "string_to_array(tags, ',')" : name,
).join(', ');

/** A batch whose outcome was not heard of is written again: its rows are there once. */
const WRITE = statement(
  {},
  `insert into request (${names}) select ${stored} from ${givenRows(WRITTEN, 'given', 1)} on conflict do nothing`,
  { name: 'write_requests' },
);

/** Writes what became of requests, in one statement. For the role `docket_api`. */
export async function writeRequests(pool: Pool, rows: readonly RequestRow[]): Promise<void> {
  await execute(pool, WRITE, arraysOf(WRITTEN, rows));
}

const READ = {
  id: 'text',
  org_id: 'text',
  key_id: 'text',
  route: 'text?',
  status: 'int2',
  code: 'text?',
  model: 'text?',
  requested_model: 'text?',
  region: 'text?',
  streamed: 'bool?',
  network: 'text?',
  tags: '_text?',
  has_receipt: 'bool',
  replay_of: 'text?',
  input_tokens: 'int4?',
  output_tokens: 'int4?',
  queued_ms: 'int4?',
  first_ms: 'int4?',
  total_ms: 'int4',
  upstream_calls: 'int2?',
  requests: 'int4',
  last_ms: 'int4?',
} as const;

export interface RequestPageRequest extends PageRequest {
  orgId: string;
  status?: StatusFilter | undefined;
  code?: string | undefined;
  /** The id in the catalogue. */
  model?: string | undefined;
  region?: string | undefined;
  key?: string | undefined;
  /** As `key=value`. */
  tag?: string | undefined;
  /** Those alone that took so many milliseconds or longer. */
  atLeastMs?: number | undefined;
  /** Epoch milliseconds of the request (the time in its id), `from` included, `to` excluded. */
  from?: number | undefined;
  to?: number | undefined;
}

export interface RequestPage extends Page<RequestRow> {
  /** None was found among as many as are looked through for one page, and there are more in the span. */
  isNoneAmongMany: boolean;
}

/** How many failures a count looks at: it is a help beside a list, which is there within milliseconds. */
const COUNTED_MAX = 10_000;

/** Greater than every id. */
const END = '~';

export type RequestReader = ReturnType<typeof createRequestReader>;

/** What became of the requests of organisations. Every call names one and sees nothing of others. */
export function createRequestReader(pool: Pool, lookedThroughMax = LOOKED_THROUGH_MAX) {
  return {
    /** Throws `invalid_after` for a request that is not here. */
    list: (request: RequestPageRequest) => listRequests(pool, request, lookedThroughMax),
    /** Null where there is no row of it: it had no key, is not over, was not written, or is over its time. */
    get: async (orgId: string, id: string): Promise<RequestRow | null> => {
      const row = await queryRow(pool, ONE, [orgId, id]);
      return row === undefined ? null : rowOf(row);
    },
    /** Whether a request of the organisation failed with this code. */
    hasFailedWith: async (orgId: string, code: string): Promise<boolean> =>
      (await queryRow(pool, HAS_CODE, [orgId, code])) !== undefined,
    /** Failed requests by code, the most frequent first, among the newest ten thousand rows of the span. */
    failures: async (
      orgId: string,
      { from, to }: Pick<RequestPageRequest, 'from' | 'to'>,
    ): Promise<{ codes: CodeCount[]; isWhole: boolean }> => {
      const values = [orgId, ...idsOf({ from, to }), COUNTED_MAX + 1];
      const rows = await queryRows(pool, FAILURES, values);
      const looked = rows.reduce((sum, { looked_at }) => sum + Number(looked_at), 0);
      // None is counted without one.
      const codes = rows.map(({ code, requests }) => ({ code: code!, requests: Number(requests) }));
      return { codes, isWhole: looked <= COUNTED_MAX };
    },
  };
}

/** A request of any organisation, for the role `docket_operator`; null where there is no row of it. */
export async function findRequestRow(pool: Pool, id: string): Promise<RequestRow | null> {
  if (!isId('req', id)) return null;
  const row = await queryRow(pool, ANYWHERE, [id]);
  return row === undefined ? null : rowOf(row);
}

const select = Object.keys(READ)
  .map((name) => `r.${name}`)
  .join(', ');
const ONE = statement(READ, `select ${select} from request r where org_id = $1 and id = $2`);
/** Rows are found by their organisation; there are few of those, and a look for each is a step in the index of one day. */
const ANYWHERE = statement(
  READ,
  `select ${select} from account a cross join lateral (
     select * from request where org_id = a.id and id = $1 limit 1) r limit 1`,
);
const HAS_CODE = statement(
  {},
  'select from request where org_id = $1 and code = $2 and code is not null limit 1',
);
const FAILURES = statement(
  { code: 'text?', requests: 'int8', looked_at: 'int8' },
  `select code, sum(requests)::int8 as requests, count(*) as looked_at from (
     select code, requests from request
     where org_id = $1 and id >= $2 and id < $3 and code is not null
     order by id desc limit $4) newest
   group by code order by requests desc, code`,
);

/** The parameters of filters are null where there is none. */
const FITS = `($4::text is null or key_id = $4) and ($5::text is null or model = $5)
  and ($6::text is null or region = $6) and ($7::text is null or code = $7)
  and ($8::int is null or status >= $8) and ($9::int is null or status < $9)
  and ($10::int is null or total_ms >= $10)`;

/** `failed` and `ok` are about the code: the index of those that failed serves the first, and a filter by code. */
const WHICH = {
  any: '',
  failed: 'and code is not null',
  ok: 'and code is null and status < 400',
} as const;

/** Answered by an index alone; those with a tag by that of rows that have one. */
const among = (which: keyof typeof WHICH, order: 'asc' | 'desc', isTagged: boolean) =>
  `select id, key_id, model, region, code, status, total_ms ${isTagged ? ', tags' : ''} from request
   where org_id = $1 and id >= $2 and id < $3 ${WHICH[which]} ${isTagged ? 'and tags is not null' : ''}
   order by id ${order}`;
const list = (which: keyof typeof WHICH, order: 'asc' | 'desc', isTagged: boolean) => ({
  page: statement(
    { id: 'text' },
    `select id from (${among(which, order, isTagged)} limit $12) looked_at
     where ${FITS} ${isTagged ? 'and $13 = any (tags)' : ''}
     order by id ${order} limit $11`,
  ),
  rest: statement(
    { id: 'text' },
    `select id from (${among(which, order, isTagged)} offset $4 limit 1) rest`,
  ),
});
const each = (which: keyof typeof WHICH) => ({
  all: { asc: list(which, 'asc', false), desc: list(which, 'desc', false) },
  tagged: { asc: list(which, 'asc', true), desc: list(which, 'desc', true) },
});
const LISTS = { any: each('any'), failed: each('failed'), ok: each('ok') } as const;

const ROWS = statement(
  READ,
  `select ${select} from request r where org_id = $1 and id = any ($2::text[])`,
);

/**
 * Statistics do not know an organisation that is younger than they are: a plan made for the few rows that they expect of it
 * would read all that it has, and sort them, to find the nearest.
 */
const PLAN_IN_ORDER = statement(
  { set_config: 'text' },
  `select set_config('enable_sort', 'off', true)`,
);

async function listRequests(
  pool: Pool,
  request: RequestPageRequest,
  lookedThroughMax: number,
): Promise<RequestPage> {
  const { orgId, after } = request;
  if (after !== undefined && (await queryRow(pool, ONE, [orgId, after])) === undefined) {
    throw new Fault('invalid_after');
  }
  const found = await inTransaction(pool, async (client) => {
    await queryRows(client, PLAN_IN_ORDER);
    const { query, rest, values } = listQuery(request, lookedThroughMax);
    const page = await queryRows(client, query, values);
    const isFull = page.length > request.limit;
    const span = values.slice(0, SPAN_PARAMS);
    const isCut =
      !isFull && (await queryRow(client, rest, [...span, lookedThroughMax])) !== undefined;
    return { page, isCut };
  });
  const { items: ids, hasMore } = pageOf(found.page, request, ({ id }) => id);
  const rows = await queryRows(pool, ROWS, [orgId, ids]);
  const byId = new Map(rows.map((row) => [row.id, rowOf(row)]));
  // A day may be forgotten between the two.
  const items = ids.flatMap((id) => byId.get(id) ?? []);
  return {
    items,
    hasMore: hasMore || (found.isCut && items.length > 0),
    isNoneAmongMany: found.isCut && items.length === 0,
  };
}

const larger = (a: string, b: string): string => (a > b ? a : b);
const smaller = (a: string, b: string): string => (a < b ? a : b);

/** Organisation, first and last id. */
const SPAN_PARAMS = 3;

/** The statement that finds the ids of a page, its parameters, and the one that says whether there are rows beyond those that it looks at. */
export function listQuery(
  { orgId, order, after, limit, ...request }: RequestPageRequest,
  lookedThroughMax = LOOKED_THROUGH_MAX,
) {
  const { key, model, region, code, status, atLeastMs, tag } = request;
  const [first, last] = idsOf(request);
  // Ids have one length: nothing lies between one and itself with a character more.
  const low = after !== undefined && order === 'asc' ? larger(first, `${after}0`) : first;
  const high = after !== undefined && order === 'desc' ? smaller(last, after) : last;
  const named = status === 'ok' || status === 'failed' ? status : undefined;
  const which = named ?? (code === undefined ? 'any' : 'failed');
  const [from, to] = statusSpan(status);
  const filters = [key, model, region, code, from, to, atLeastMs].map((value) => value ?? null);
  const { page: query, rest } = LISTS[which][tag === undefined ? 'all' : 'tagged'][order];
  const values = [orgId, low, high, ...filters, limit + 1, lookedThroughMax];
  return { query, rest, values: tag === undefined ? values : [...values, tag] };
}

function statusSpan(status: StatusFilter | undefined): number[] {
  if (status === undefined || status === 'ok' || status === 'failed') return [];
  if (typeof status === 'number') return [status, status + 1];
  const first = Number(status[0]) * 100;
  return [first, first + 100];
}

function idsOf({ from, to }: Pick<RequestPageRequest, 'from' | 'to'>): [string, string] {
  return [
    from === undefined ? '' : firstRequestIdAt(from),
    to === undefined ? END : firstRequestIdAt(to),
  ];
}

function rowOf(row: Row<typeof ONE>): RequestRow {
  return {
    id: row.id,
    orgId: row.org_id,
    keyId: row.key_id,
    route: row.route,
    status: row.status,
    code: row.code,
    model: row.model,
    requestedModel: row.requested_model,
    region: row.region,
    streamed: row.streamed,
    network: row.network,
    tags: row.tags,
    hasReceipt: row.has_receipt,
    replayOf: row.replay_of,
    inputTokens: row.input_tokens,
    outputTokens: row.output_tokens,
    queuedMs: row.queued_ms,
    firstMs: row.first_ms,
    totalMs: row.total_ms,
    upstreamCalls: row.upstream_calls,
    requests: row.requests,
    lastMs: row.last_ms,
  };
}
