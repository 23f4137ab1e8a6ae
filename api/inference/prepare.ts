import type { IncomingHttpHeaders } from 'node:http';
import type { Credential } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { dropMembers } from '#shared/kernel/json-text.ts';
import { requestDigest } from '#shared/receipts/digest.ts';
import { type Resolution, resolveRoute } from '#shared/catalogue/routing.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import { KIND_OF_ROUTE, type RoutingIndex } from '#shared/catalogue/route-index.ts';
import { shardOf } from '#shared/lanes/keys.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { type JsonBody, parseJsonBody } from '#api/openai/parse-json.ts';
import type { ChatRequest, CompletionRequest, EmbeddingRequest } from '#api/openai/requests.ts';
import { validateChat, validateCompletion, validateEmbedding } from '#api/openai/validate.ts';
import { claimOf } from './idempotency.ts';

/** Our own request fields: the upstream never sees them. */
const OWN_FIELDS = ['region', 'tier', 'receipt'];
/** Ten minutes, as long as the SDKs wait for an answer. */
const DEADLINE_MS = 600_000;

/** W3C Trace Context, version 00. */
const TRACEPARENT = /^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

const VALIDATORS = {
  'chat.completions': validateChat,
  completions: validateCompletion,
  embeddings: validateEmbedding,
} as const;

export interface PrepareDeps {
  /** The catalogue as it is now, and how its regions are. */
  index: () => RoutingIndex;
  health: () => RegionHealth;
  /** base64url of 16 random bytes. */
  newSalt: () => string;
  /** Names the inbox for the replies. */
  processId: string;
  shards: number;
}

/** What is known of a request before it is routed. */
export type UnroutedEntry = Omit<InferenceEntry, 'model' | 'region' | 'tier'>;

/** A request as it was sent: what is in it says all of this, and nothing that may change. */
export interface Unrouted {
  entry: UnroutedEntry;
  rawBody: Buffer;
  text: string;
  parsed: ChatRequest | CompletionRequest | EmbeddingRequest;
  regionHeader: string | undefined;
  /** What identical requests have in common, with an Idempotency-Key (then `entry.claim` is set). */
  fingerprint?: string;
}

/** A request that may be screened and admitted. */
export interface Prepared {
  /** The entry for the lane. The region is a candidate only: admission chooses it. */
  entry: InferenceEntry;
  /** The body for the upstream. */
  body: string;
  /** The parsed and validated body, and its size as it came. */
  parsed: Readonly<Record<string, unknown>>;
  bytes: number;
  resolution: Resolution;
  credential: Credential;
  fingerprint?: string;
}

/**
 * Parses and validates a request. What is wrong with the request itself is said before anything is looked up.
 * @throws Fault
 */
export function read(
  deps: Pick<PrepareDeps, 'newSalt' | 'processId' | 'shards'>,
  route: Route,
  request: {
    id: string;
    rawBody: Buffer;
    /** What the body says, where it has been parsed already. */
    json?: JsonBody;
    headers: IncomingHttpHeaders;
    credential: Pick<Credential, 'orgId' | 'keyId'>;
    now: number;
  },
): Unrouted {
  const { credential, headers, rawBody } = request;
  const { orgId, keyId } = credential;
  const { text, value } = request.json ?? parseJsonBody(rawBody);
  const parsed = VALIDATORS[route](value);
  const shard = shardOf(orgId, deps.shards);
  const regionHeader = regionHeaderOf(headers['x-region']);
  const scope = { shard, orgId, route, regionHeader };
  const claim = claimOf(headers['idempotency-key'], rawBody, scope);
  const stream = 'stream' in parsed && parsed.stream === true;
  const options =
    'stream_options' in parsed
      ? (parsed.stream_options as { include_usage?: boolean } | null)
      : null;
  const salt = deps.newSalt();
  const entry: UnroutedEntry = {
    id: request.id,
    orgId,
    keyId,
    shard,
    route,
    stream,
    includeUsage: stream && options?.include_usage === true,
    inbox: deps.processId,
    startedAt: request.now,
    deadlineAt: request.now + DEADLINE_MS,
    salt,
    requestDigest: requestDigest(salt, rawBody),
    receipt: parsed.receipt === 'required' ? 'required' : 'best_effort',
  };
  if (claim !== undefined) entry.claim = claim.claim;
  const traceparent = headers['traceparent'];
  if (typeof traceparent === 'string' && TRACEPARENT.test(traceparent))
    entry.traceparent = traceparent;
  const unrouted: Unrouted = { entry, rawBody, text, parsed, regionHeader };
  if (claim !== undefined) unrouted.fingerprint = claim.fingerprint;
  return unrouted;
}

/**
 * Chooses model, tier and regions of a request.
 * @throws Fault when it asks for what is not there, or cannot be had now
 */
export function prepare(
  deps: Pick<PrepareDeps, 'index' | 'health'>,
  { entry, rawBody, text, parsed, regionHeader, fingerprint }: Unrouted,
  credential: Credential,
): Prepared {
  const resolution = resolveRoute(
    deps.index(),
    {
      model: parsed.model,
      kind: KIND_OF_ROUTE[entry.route],
      region: parsed.region,
      regionHeader,
      tier: parsed.tier,
      n: 'n' in parsed ? parsed.n : null,
    },
    credential,
    deps.health(),
  );
  return {
    entry: {
      ...entry,
      model: resolution.model.id,
      region: resolution.candidates[0]!.region.code,
      tier: resolution.tier,
    },
    body: dropMembers(text, OWN_FIELDS),
    parsed,
    bytes: rawBody.length,
    resolution,
    credential,
    ...(fingerprint === undefined ? {} : { fingerprint }),
  };
}

function regionHeaderOf(value: string | string[] | undefined): string | undefined {
  if (Array.isArray(value))
    throw new Fault('invalid_region', { message: 'Name one region only.', param: 'x-region' });
  return value;
}
