import { receiptIdOf, timeOfId } from '#shared/kernel/ids.ts';

/** What became of one request that had a valid key, or of several alike that took nothing of the daily budget: figures and names, never texts. */
export interface RequestRow {
  /** `req_…`; its time is that of the request. */
  id: string;
  orgId: string;
  keyId: string;
  /** Method and pattern of its route, as `POST /v1/chat/completions`; null where it was refused before it was routed. */
  route: string | null;
  /** 499 for a client that left before the end of its answer. */
  status: number;
  /** Of an error, also of one behind the beginning of a stream. */
  code: string | null;
  /** The model's id in the catalogue. */
  model: string | null;
  /** The name that it was asked for by, where that is another, or none of ours. */
  requestedModel: string | null;
  region: string | null;
  /** Null where no model was asked for. */
  streamed: boolean | null;
  /** Where it came from: an address of IPv4, or the /64 of one of IPv6. Null where those that a row stands for came from several. */
  network: string | null;
  /** Its tags, each `key=value`; null where it has none, or was refused before it was read. */
  tags: readonly string[] | null;
  /** There is a receipt of its answer, or will be. */
  hasReceipt: boolean;
  /** The request whose answer this one was given again. */
  replayOf: string | null;
  /** As its receipt counts them, where its answer came with one. */
  inputTokens: number | null;
  outputTokens: number | null;
  /** Whole milliseconds: until the upstream call that was answered, to the first of a stream, and to the end of the answer. */
  queuedMs: number | null;
  firstMs: number | null;
  totalMs: number;
  upstreamCalls: number | null;
  /** More than one where the row stands for requests of one key that were alike and followed each other. */
  requests: number;
  /** Milliseconds from the first to the last of those. */
  lastMs: number | null;
}

/** Names that callers send are cut to this: no model of ours has a longer one. */
export const REQUESTED_MODEL_LENGTH_MAX = 128;

/** The receipt of a request's answer; null where there is none. */
export function receiptOf({
  id,
  replayOf,
  hasReceipt,
}: Pick<RequestRow, 'id' | 'replayOf' | 'hasReceipt'>): string | null {
  return hasReceipt ? receiptIdOf(replayOf ?? id) : null;
}

/** The request whose answer a row's was; null also where the row stands for several, which may have had several. */
export function replayed({ replayOf, requests }: Pick<RequestRow, 'replayOf' | 'requests'>) {
  return requests === 1 ? replayOf : null;
}

/** What callers and operators are told of a row, by the names of the interface, but for whose it is. */
export function requestFacts(row: RequestRow) {
  const at = timeOfId(row.id);
  return {
    key_id: row.keyId,
    route: row.route,
    status: row.status,
    code: row.code,
    model: row.model,
    requested_model: row.requestedModel,
    region: row.region,
    stream: row.streamed,
    network: row.network,
    tags: [...(row.tags ?? [])],
    input_tokens: row.inputTokens,
    output_tokens: row.outputTokens,
    queued_ms: row.queuedMs,
    first_ms: row.firstMs,
    total_ms: row.totalMs,
    upstream_calls: row.upstreamCalls,
    receipt_id: receiptOf(row),
    requests: row.requests,
    created_at: new Date(at).toISOString(),
    last_at: row.lastMs === null ? null : new Date(at + row.lastMs).toISOString(),
  };
}

/** Classes of HTTP status by which lists are filtered. */
const STATUS_CLASSES = ['2xx', '4xx', '5xx'] as const;

/**
 * What a filter by status asks for: `ok`: answered, and no error in it; `failed`: with a code of an error; or a class, or a
 * status itself.
 */
export type StatusFilter = 'ok' | 'failed' | (typeof STATUS_CLASSES)[number] | number;

/** The filter that a text names; undefined where it names none. */
export function statusFilterOf(text: string): StatusFilter | undefined {
  if (text === 'ok' || text === 'failed') return text;
  const ofClass = STATUS_CLASSES.find((one) => one === text);
  if (ofClass !== undefined) return ofClass;
  return /^[245]\d\d$/.test(text) ? Number(text) : undefined;
}

/**
 * Rows that are looked through for one page: a few tenths of a second. A filter that few rows fit, or none, would otherwise have
 * all read that an organisation has, which are millions.
 */
export const LOOKED_THROUGH_MAX = 200_000;

/** How many requests failed with a code. */
export interface CodeCount {
  code: string;
  requests: number;
}
