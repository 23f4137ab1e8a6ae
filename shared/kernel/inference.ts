import type { Plan } from './plan.ts';

/** The operations that reach a model. */
export const ROUTES = [
  'chat.completions',
  'completions',
  'embeddings',
  'responses',
  'messages',
] as const;
export type Route = (typeof ROUTES)[number];

/** The dialects in which requests are screened, counted and handed to a worker. */
export type Dialect = Exclude<Route, 'messages'>;

/** The dialect of a request behind the api, which makes a chat of what asks for a message. */
export function dialectOf(route: Route): Dialect {
  return route === 'messages' ? 'chat.completions' : route;
}

/** As many texts as one request has generated at most, of all its prompts. OpenAI's batches stop far below this. */
export const TEXTS_MAX = 128;
/** Sequences at which a chat may stop: OpenAI and many other servers take so many. */
export const CHAT_STOPS_MAX = 4;

/** The parameter of a request that holds what the model reads. */
export const PROMPT_PARAMS: Readonly<Record<Route, string>> = {
  'chat.completions': 'messages',
  completions: 'prompt',
  embeddings: 'input',
  responses: 'input',
  messages: 'messages',
};

/** The one who counted the tokens of a request: the upstream, or we with a tokenizer. */
export const USAGE_SOURCES = ['upstream', 'counted'] as const;

/** Token counts of one request, over all its choices. Zero is a value; only absent usage is counted by us. */
export interface Usage {
  inputTokens: number;
  /** The part of `inputTokens` that the upstream served from its prefix cache. */
  cachedInputTokens: number;
  outputTokens: number;
  source: (typeof USAGE_SOURCES)[number];
  /** With `counted`: name of the vocabulary, e.g. `o200k_base`. */
  tokenizer?: string;
  /** With `counted`: where the true counts lie, when the vocabulary is not known to be the model's own. */
  tokenInterval?: TokenInterval;
  /** With `counted`: a part was counted and the rest estimated; `tokenInterval` says between what. */
  extrapolated?: true;
  /** With `counted`: the upstream stated counts, and they cannot be. */
  overruled?: true;
  /** Energy of the accelerators for each call, in joules, where the upstream states it of itself. */
  statedJoules?: number;
}

/** Bounds of counts that were made with another vocabulary than the model's, or of a part. */
export interface TokenInterval {
  inputLower: number;
  inputUpper: number;
  outputLower: number;
  outputUpper: number;
}

/**
 * Why the tokens of a request are not known: its caller left before an answer, its upstream broke off, its worker died,
 * or what it was made of cannot be counted.
 */
export const USAGE_REASONS = ['caller_left', 'upstream_cut', 'worker_lost', 'not_counted'] as const;
export type UsageReason = (typeof USAGE_REASONS)[number];

/** What is known of a request whose tokens are not known: never a zero for what was not counted. */
export interface UnknownUsage {
  source: 'unknown';
  reason: (typeof USAGE_REASONS)[number];
  /** Where we could count the prompt; with `tokenizer`. */
  inputTokens?: number;
  tokenizer?: string;
  /** Energy of the accelerators for each call, in joules, where the upstream states it of itself. */
  statedJoules?: number;
}

/**
 * complete · partial: the client left · truncated: the upstream or its worker died after something of its answer had come ·
 * failed: an upstream was called, and nothing came of it · refused: blocked by screening.
 */
export const OUTCOMES = ['complete', 'partial', 'truncated', 'failed', 'refused'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/**
 * Whether a request came to an answer, to a part of one, or to a client that did not wait for it. One that failed or was
 * refused came to nothing that could be counted or estimated.
 */
export function ran(outcome: Outcome): boolean {
  return outcome !== 'failed' && outcome !== 'refused';
}

/**
 * Whether it is known what an answer used. Of one that did not come to its end a count of ours has what was handed on, and
 * nothing of what a model thought unseen before it.
 */
export function isUseKnown({
  outcome,
  usage,
}: Pick<InferenceRecord, 'outcome' | 'usage'>): boolean {
  return usage.source === 'upstream' || (usage.source === 'counted' && outcome === 'complete');
}

/** Why a request failed after an upstream had been called, by codes of errors: those that its caller may be told. */
export const FAILURES = [
  'upstream_error',
  'upstream_timeout',
  'worker_lost',
  'internal_error',
] as const;
export type Failure = (typeof FAILURES)[number];

/** The outcome of one request: everything a receipt is made of. Travels on the receipts lane. */
export interface InferenceRecord {
  /** `req_…`; the receipt has the same ULID under `rcpt_`. */
  requestId: string;
  orgId: string;
  keyId: string;
  route: Route;
  /** The model's id in the catalogue. */
  model: string;
  /** The alias by which the request asked for it; absent when that was the id. */
  requestedModel?: string;
  /** The model as its upstream named it in its answer; absent when it named none. `modelVersion` on the receipt. */
  upstreamModel?: string;
  /** The `id` that the upstream gave its answer; the caller gets one of ours. */
  upstreamAnswerId?: string;
  region: string;
  tier: Plan;
  /** Epoch milliseconds. */
  startedAt: number;
  endedAt: number;
  /** Whole milliseconds from `startedAt` to the upstream call that was answered, earlier calls and waits included. */
  queuedMs?: number;
  /** Whole milliseconds from that call to the last byte of its answer: the time on the hardware. */
  upstreamMs?: number;
  /** The endpoint that answered, where the catalogue says that its accelerators are metered. On no receipt. */
  meteredEndpoint?: string;
  usage: Usage | UnknownUsage;
  /** Calls made to upstreams, failed ones included (their energy is counted too). */
  attempts: number;
  /** base64url of the 16 random bytes that salt both digests. */
  salt: string;
  /** base64url of SHA-256(salt bytes || raw request body). */
  requestDigest: string;
  /** base64url of SHA-256(salt bytes || answer bytes without the receipt); absent when failed or refused. */
  responseDigest?: string;
  /**
   * Of a stream that did not come to its end: how many `data:` payloads were handed on. `responseDigest` is over exactly
   * these.
   */
  relayedPayloads?: number;
  /** Tokens in those payloads. */
  relayedTokens?: number;
  outcome: Outcome;
  /** For failed requests: why. */
  failure?: Failure;
  /** The id of the response that it goes on from, `resp_…`. */
  previous?: string;
  /** Its tags, each `key=value`. On no receipt. */
  tags?: readonly string[];
  /** What the catalogue's prices give for its tokens, as `EUR 0.00042`; absent without a price. On no receipt. */
  cost?: string;
  /** For refused requests: which policy refused, e.g. `2026-11-01`, and its rule. */
  policy?: { version: string; rule: string };
}

interface RecordField {
  /** It is absent where it is not known. */
  ifKnown?: true;
  /** How a receipt states it. One without is said by several fields, as an address, or not at all. */
  form?: 'count' | 'digest' | 'foreignId' | 'foreignName' | 'name' | 'salt' | 'text' | 'time';
  /** The field of a receipt that states it, where that has another name. */
  as?: string;
  /** A receipt states it of a request that came to an answer, or to a part of one. */
  ifRan?: true;
  /** A receipt states it unless the request was refused. */
  ifCalled?: true;
}

/** Each field of a record, once: what hands records over, writes receipts of them and reads them back goes by this. */
export const RECORD_FIELDS = {
  requestId: {},
  orgId: {},
  keyId: {},
  route: { form: 'name' },
  model: { form: 'name' },
  requestedModel: { ifKnown: true, form: 'text' },
  upstreamModel: { ifKnown: true, form: 'foreignName', as: 'modelVersion', ifRan: true },
  upstreamAnswerId: { ifKnown: true, form: 'foreignId', ifRan: true },
  region: { form: 'name' },
  tier: {},
  startedAt: { form: 'time' },
  endedAt: { form: 'time' },
  queuedMs: { ifKnown: true, form: 'count', ifRan: true },
  upstreamMs: { ifKnown: true, form: 'count', ifRan: true },
  meteredEndpoint: { ifKnown: true },
  usage: {},
  attempts: { form: 'count', ifCalled: true },
  salt: { form: 'salt' },
  requestDigest: { form: 'digest' },
  responseDigest: { ifKnown: true, form: 'digest', ifRan: true },
  relayedPayloads: { ifKnown: true, form: 'count', ifRan: true },
  relayedTokens: { ifKnown: true, form: 'count', ifRan: true },
  outcome: { form: 'name' },
  failure: { ifKnown: true, form: 'name' },
  previous: { ifKnown: true },
  tags: { ifKnown: true },
  cost: { ifKnown: true },
  policy: { ifKnown: true },
} as const satisfies {
  [F in keyof InferenceRecord]-?: RecordField &
    (undefined extends InferenceRecord[F] ? { ifKnown: true } : { ifKnown?: never });
};
