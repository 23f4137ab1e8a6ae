import type { IncomingHttpHeaders } from 'node:http';
import type { RouteRequest } from '#shared/catalogue/routing.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { type Dialect, dialectOf, type Route } from '#shared/kernel/inference.ts';
import { isOnlyInResponses } from '#shared/dialects/chat-of-response.ts';
import { chatToolsOf, namedIgnored } from '#shared/dialects/response-tools.ts';
import { memberText } from '#shared/kernel/json-text.ts';
import { tagsIn } from '#shared/kernel/tags.ts';
import { readTraceparent, writeTraceparent } from '#shared/kernel/traceparent.ts';
import { shardOf } from '#shared/lanes/keys.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { requestDigest } from '#shared/receipts/digest.ts';
import { mediaInBlocks } from '#api/anthropic/media.ts';
import { validateMessage } from '#api/anthropic/validate.ts';
import { ANSWER_BOUNDS } from '#api/openai/fields.ts';
import { onlyInResponses } from '#api/openai/only-native.ts';
import { type JsonBody, parseJsonBody } from '#api/openai/parse-json.ts';
import { referencesIn, refuseOrphans } from '#api/openai/references.ts';
import type { ChatRequest, CompletionRequest, EmbeddingRequest } from '#api/openai/requests.ts';
import type { ResponseRequest } from '#api/openai/responses.ts';
import {
  validateChat,
  validateCompletion,
  validateEmbedding,
  validateResponse,
} from '#api/openai/validate.ts';
import { ANSWER_TOKENS_ASSUMED } from './admit/budgets.ts';
import { claimOf } from './idempotency.ts';
import { withConversation } from './kept/conversation.ts';
import type { Before } from './kept/kept-responses.ts';
import { idsOf, withItems } from './kept/referred-items.ts';
import { type Fetched, fetchedBy } from './fetched.ts';
import { type Medium, mediaIn, namesAddressInside } from './modalities.ts';
import type { OnlyNative } from './only-native.ts';

/** Ten minutes, as long as the SDKs wait for an answer. */
export const DEADLINE_MS = 600_000;

/** Names of features of Anthropic's interface, separated by commas. */
const BETAS = /^[\w.-]{1,64}(?:\s?,\s?[\w.-]{1,64}){0,31}$/;

const VALIDATORS = {
  'chat.completions': validateChat,
  completions: validateCompletion,
  embeddings: validateEmbedding,
  responses: validateResponse,
} as const satisfies Record<Dialect, unknown>;

export interface ReadDeps {
  /** base64url of 16 random bytes. */
  newSalt: () => string;
  /** Names the inbox for the replies. */
  processId: string;
  shards: number;
}

/** A request as it came. */
export interface RawRequest {
  id: string;
  route: Route;
  rawBody: Buffer;
  headers: IncomingHttpHeaders;
  credential: Pick<Credential, 'orgId' | 'keyId' | 'keepResponses' | 'tags'>;
  /** Epoch milliseconds. */
  now: number;
  /** Nothing is to be generated: only what the request would read is to be counted. */
  counts?: boolean;
}

/** The headers that `read` looks at. */
export const HEADERS_READ = [
  'anthropic-beta',
  'idempotency-key',
  'traceparent',
  'x-region',
] as const;

/** What a request asks to be routed by. */
interface Asked {
  model: string;
  region?: string | null | undefined;
  regionHeader?: string | undefined;
  tier?: string | null | undefined;
  n?: number | null | undefined;
  bestOf?: number | null | undefined;
  prompts?: number;
  /** The tokens of one answer, at most. */
  answerTokensMax?: number | undefined;
  tools?: RouteRequest['tools'];
  /** The kinds of media in its messages. */
  media?: Medium[] | undefined;
  /** What else a server would fetch for it. */
  fetched?: Fetched | undefined;
  embeddings?: { inputs: number; dimensions: number | null | undefined } | undefined;
  /** The place of a reference to what is not kept here, so that only a server may know it. */
  reference?: string | undefined;
  /** What goes to servers alone that speak its interface themselves. */
  only?: OnlyNative | undefined;
}

/** What is known of a request before it is routed. */
export type UnroutedEntry = Omit<InferenceEntry, 'model' | 'requestedModel' | 'region' | 'tier'>;

/** What a request says of itself, without the parts that grow with its body. Nothing in it may change later. */
export interface Unrouted {
  entry: UnroutedEntry;
  asked: Asked;
  /** Its response is to be kept, as far as it and its organisation have it. */
  keeps: boolean;
  /** The ids of the items that its input refers to, where there are any. */
  references?: string[];
  /** What a request for a message names in `anthropic-beta`. */
  betas?: string;
  /** What identical requests have in common, with an Idempotency-Key (then `entry.claim` is set). */
  fingerprint?: string;
}

/** The body of a request, parsed and validated; of a request for a message the chat that it was translated to. */
export interface ParsedBody {
  route: Dialect;
  rawBody: Buffer;
  text: string;
  /** The input of this request alone, where its response is to be kept. */
  ownInput?: string;
  /** The request for a message that it was translated from. */
  message?: JsonBody;
  parsed: ChatRequest | CompletionRequest | EmbeddingRequest | ResponseRequest;
}

/**
 * Parses and validates a request. What is wrong with the request itself is said before anything is looked up.
 * @throws Fault
 */
export function read(
  deps: ReadDeps,
  request: RawRequest,
): { unrouted: Unrouted; body: ParsedBody } {
  const { id, route, rawBody, headers, now } = request;
  const { orgId, keyId, keepResponses, tags: tagKeys } = request.credential;
  const json = parseJsonBody(rawBody);
  const { body, media, fetched, only, ofMessage } = bodyOf(request, json);
  const { parsed } = body;
  const shard = shardOf(orgId, deps.shards);
  // Of a header that is no list Node makes one text; where it came twice, the request was refused before it got here.
  const regionHeader = headers['x-region'] as string | undefined;
  const betas = route === 'messages' ? betasIn(headers['anthropic-beta']) : undefined;
  const scope = { shard, orgId, route, regionHeader, betas };
  const claim = claimOf(headers['idempotency-key'], rawBody, scope);
  const stream = 'stream' in parsed && parsed.stream === true;
  const options =
    'stream_options' in parsed
      ? (parsed.stream_options as { include_usage?: boolean } | null)
      : null;
  const salt = deps.newSalt();
  const entry: UnroutedEntry = {
    id,
    orgId,
    keyId,
    shard,
    route,
    stream,
    includeUsage: stream && options?.include_usage === true,
    inbox: deps.processId,
    startedAt: now,
    deadlineAt: now + DEADLINE_MS,
    salt,
    requestDigest: requestDigest(salt, rawBody),
    receipt: parsed.receipt === 'required' ? 'required' : 'best_effort',
  };
  Object.assign(entry, ofMessage);
  if (claim !== undefined) entry.claim = claim.claim;
  // It is read of the request as it came, on every route: what becomes of it further on is another matter.
  const tags = tagsIn((json.value as { metadata?: unknown }).metadata, tagKeys);
  if (tags !== undefined) entry.tags = tags;
  const traceparent = traceparentIn(headers);
  if (traceparent !== undefined) entry.traceparent = traceparent;
  const asked = { ...askedOf(body, media), fetched, only, regionHeader };
  const unrouted: Unrouted = { entry, asked, keeps: false };
  if (betas !== undefined) unrouted.betas = betas;
  if (claim !== undefined) unrouted.fingerprint = claim.fingerprint;
  if (route !== 'responses') return { unrouted, body };
  const { store, previous_response_id: previous } = parsed as ResponseRequest;
  unrouted.keeps = keepResponses && store !== false;
  if (previous != null) entry.previous = previous;
  if (unrouted.keeps) body.ownInput = memberText(body.text, 'input')!;
  const references = referencesIn((parsed as ResponseRequest).input);
  if (references.length > 0) unrouted.references = idsOf(references);
  return { unrouted, body };
}

/** What goes upstream of the header; anything else is passed over, as it is there. */
function betasIn(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && BETAS.test(header) ? header : undefined;
}

/**
 * A request that has been read, with the conversation before its own input that it goes on from, and the items in it that it
 * refers to: all that is read of it from here on is of all of them.
 * @throws Fault
 */
export function goOn(
  { text, ownInput, parsed }: ParsedBody,
  before: Before,
): { asked: Asked; body: ParsedBody } {
  const { input } = parsed as ResponseRequest;
  const own = withItems(text, input, before);
  const rawBody = Buffer.from(withConversation(own.text, before.turns));
  const json = parseJsonBody(rawBody);
  const items = (json.value as { input: unknown[] }).input;
  // What is before its own input came with an earlier request.
  const first = items.length - own.places.length;
  const left = referencesIn(items);
  const placeIn = (at: number): string | undefined => own.places[at - first];
  // Of what only a server knows, only a server can tell what is missing.
  if (left.length === 0) refuseOrphans(items, placeIn);
  const { body, media, fetched, only } = bodyOf({ route: 'responses', rawBody }, json);
  if (ownInput !== undefined) body.ownInput = memberText(own.text, 'input')!;
  const reference = left.map(({ at }) => placeIn(at) ?? 'previous_response_id')[0];
  return { asked: { ...askedOf(body, media), fetched, reference, only }, body };
}

/** As it came, of the version that is known; of a later one what is known of it. */
function traceparentIn({ traceparent }: IncomingHttpHeaders): string | undefined {
  const place = readTraceparent(traceparent);
  if (place === undefined || typeof traceparent !== 'string') return undefined;
  return traceparent.startsWith('00-') ? traceparent : writeTraceparent(place);
}

/** An array of token ids is one prompt. */
function promptCount({ prompt }: Pick<CompletionRequest, 'prompt'>): number {
  return Array.isArray(prompt) && typeof prompt[0] !== 'number' ? prompt.length : 1;
}

function askedOf({ route, parsed }: ParsedBody, media: Medium[] | undefined): Asked {
  return {
    model: parsed.model,
    region: parsed.region,
    tier: parsed.tier,
    n: 'n' in parsed ? parsed.n : null,
    bestOf: 'best_of' in parsed ? parsed.best_of : null,
    prompts: route === 'completions' ? promptCount(parsed as CompletionRequest) : 1,
    answerTokensMax: answerTokensIn(route, parsed),
    tools: toolsOf(route, parsed),
    media,
    embeddings: route === 'embeddings' ? embeddingsOf(parsed as EmbeddingRequest) : undefined,
  };
}

/** The bounds of an answer that the schema of each interface checks. */
const OWN_BOUNDS: Readonly<Record<Dialect, readonly string[]>> = {
  'chat.completions': ['max_tokens', 'max_completion_tokens'],
  completions: ['max_tokens'],
  responses: ['max_output_tokens'],
  embeddings: [],
};

/**
 * How long an answer may be, whichever of its bounds a server goes by: of several it is the largest. One that passes through
 * unchecked may be overlooked, so that it never makes an answer shorter, and what is no number of tokens is no bound.
 */
function answerTokensIn(route: Dialect, parsed: ParsedBody['parsed']): number | undefined {
  const valueOf = (name: string): unknown => (parsed as Readonly<Record<string, unknown>>)[name];
  const given = ANSWER_BOUNDS.filter((name) => valueOf(name) != null);
  if (given.length === 0) return undefined;
  const bounds = given.map((name) => {
    const value = valueOf(name);
    return typeof value === 'number' && value >= 0 ? Math.ceil(value) : Number.POSITIVE_INFINITY;
  });
  const isBounded = given.some((name) => OWN_BOUNDS[route].includes(name));
  return Math.max(...bounds, isBounded ? 0 : ANSWER_TOKENS_ASSUMED);
}

/** What the answer is written by, and the chat that a request for a message has become does not say. */
type OfMessage = Pick<InferenceEntry, 'omitsThoughts' | 'ignoredTools'>;

/** The body in the interface in which it goes on, with what of it is not said there. */
function bodyOf(
  { route, rawBody, counts }: Pick<RawRequest, 'route' | 'rawBody' | 'counts'>,
  json: JsonBody,
): {
  body: ParsedBody;
  media: Medium[] | undefined;
  fetched: Fetched | undefined;
  only?: OnlyNative | undefined;
  ofMessage?: OfMessage;
} {
  if (route !== 'messages') {
    const { text, value } = json;
    const parsed = VALIDATORS[route](value);
    const fetched = fetchedBy(parsed);
    const media = mediaOf(route, parsed);
    const only = route === 'responses' ? onlyInResponses(parsed) : undefined;
    return { body: { route, rawBody, text, parsed }, media, fetched, only };
  }
  const { body, chat, ignored, only } = validateMessage(json, counts);
  const translated = JSON.stringify(chat);
  const bytes = Buffer.from(translated);
  return {
    body: {
      route: dialectOf(route),
      rawBody: bytes,
      text: translated,
      parsed: chat,
      message: json,
    },
    media: mediaInBlocks(body.messages, body.system),
    fetched: fetchedBy(body),
    only,
    ofMessage: {
      ...(body.thinking?.type === 'disabled' ? { omitsThoughts: true } : {}),
      ...(ignored.length === 0 ? {} : { ignoredTools: namedIgnored(ignored) }),
    },
  };
}

/**
 * `functions` is what `tools` was called before; other routes pass fields of these names on. Of a request for a response
 * those count that its caller runs, as a chat server is given them.
 */
function toolsOf(route: Dialect, parsed: ParsedBody['parsed']): RouteRequest['tools'] {
  if (route === 'responses') {
    const { length } = chatToolsOf(parsed).tools;
    return length === 0 ? undefined : { field: 'tools', count: length };
  }
  if (route !== 'chat.completions') return undefined;
  const { tools, functions } = parsed as { [name in 'tools' | 'functions']?: unknown[] | null };
  const count = (tools?.length ?? 0) + (functions?.length ?? 0);
  return count === 0 ? undefined : { field: tools?.length ? 'tools' : 'functions', count };
}

/** `messages` are checked where the interface has them. Elsewhere they may be anything, and some servers make embeddings of them. */
function mediaOf(route: Dialect, parsed: ParsedBody['parsed']): Medium[] | undefined {
  if (route === 'chat.completions') return mediaIn('messages', (parsed as ChatRequest).messages);
  const media = route === 'responses' ? mediaInInput(parsed as ResponseRequest) : undefined;
  if (!('messages' in parsed) || !namesAddressInside(parsed.messages)) return media;
  return [...(media ?? []), { isElsewhere: true, param: 'messages' }];
}

function mediaInInput({ input }: ResponseRequest): Medium[] | undefined {
  if (!Array.isArray(input)) return undefined;
  const known = mediaIn('input', input);
  const at = input.findIndex((item) => isOnlyInResponses(item) && namesAddressInside(item));
  return at === -1 ? known : [...(known ?? []), { isElsewhere: true, param: `input[${at}]` }];
}

/** One input may be a text or an array of token ids. */
function embeddingsOf({ input, dimensions }: EmbeddingRequest) {
  const isOne = !Array.isArray(input) || typeof input[0] === 'number';
  return { inputs: isOne ? 1 : input.length, dimensions };
}
