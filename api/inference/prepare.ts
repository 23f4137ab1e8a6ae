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
  /** SHA-256 of the raw body, with an Idempotency-Key. */
  fingerprint?: string;
  /** To be called when the request is in the pipeline, or refused: its answer may take minutes, and nothing needs its body. */
  letGo: () => void;
}

/**
 * Parses, validates and routes a request. What is wrong with the request itself is said before anything is looked up.
 * @throws Fault
 */
export function prepare(
  deps: PrepareDeps,
  route: Route,
  request: {
    id: string;
    rawBody: Buffer;
    /** What the body says, where it has been parsed already. */
    json?: JsonBody;
    headers: IncomingHttpHeaders;
    credential: Credential;
    now: number;
    /** Lets go of what the caller holds of the body. */
    letGo?: () => void;
  },
): Prepared {
  const { credential, headers, rawBody } = request;
  const { text, value } = request.json ?? parseJsonBody(rawBody);
  const body = VALIDATORS[route](value);
  const shard = shardOf(credential.orgId, deps.shards);
  const claim = claimOf(headers['idempotency-key'], rawBody, {
    shard,
    orgId: credential.orgId,
    route,
  });
  const resolution = resolveRoute(
    deps.index(),
    {
      model: body.model,
      kind: KIND_OF_ROUTE[route],
      region: body.region,
      regionHeader: regionHeader(headers['x-region']),
      tier: body.tier,
      n: 'n' in body ? body.n : null,
    },
    credential,
    deps.health(),
  );
  const stream = 'stream' in body && body.stream === true;
  const options =
    'stream_options' in body ? (body.stream_options as { include_usage?: boolean } | null) : null;
  const salt = deps.newSalt();
  const entry: InferenceEntry = {
    id: request.id,
    orgId: credential.orgId,
    keyId: credential.keyId,
    shard,
    route,
    model: resolution.model.id,
    region: resolution.candidates[0]!.region.code,
    tier: resolution.tier,
    stream,
    includeUsage: stream && options?.include_usage === true,
    inbox: deps.processId,
    startedAt: request.now,
    deadlineAt: request.now + DEADLINE_MS,
    salt,
    requestDigest: requestDigest(salt, rawBody),
    receipt: body.receipt === 'required' ? 'required' : 'best_effort',
  };
  if (claim !== undefined) entry.claim = claim.claim;
  const traceparent = headers['traceparent'];
  if (typeof traceparent === 'string' && TRACEPARENT.test(traceparent))
    entry.traceparent = traceparent;
  const prepared: Prepared = {
    entry,
    body: dropMembers(text, OWN_FIELDS),
    parsed: body,
    bytes: rawBody.length,
    resolution,
    credential,
    ...(claim === undefined ? {} : { fingerprint: claim.fingerprint }),
    letGo: () => {
      prepared.body = '';
      prepared.parsed = {};
      request.letGo?.();
    },
  };
  return prepared;
}

function regionHeader(value: string | string[] | undefined): string | undefined {
  if (Array.isArray(value))
    throw new Fault('invalid_region', { message: 'Name one region only.', param: 'x-region' });
  return value;
}
