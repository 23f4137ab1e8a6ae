import type { Credential } from '#shared/keys/credential.ts';
import { type Resolution, resolveRoute, type RouteRequest } from '#shared/catalogue/routing.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import { KIND_OF_ROUTE, type RoutingIndex, speaksItself } from '#shared/catalogue/route-index.ts';
import { PROMPT_PARAMS } from '#shared/kernel/inference.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { checkFetched } from './fetched.ts';
import { checkAddresses, checkModalities, type MediaUrls } from './modalities.ts';
import { unknownItem } from './kept/referred-items.ts';
import type { Extent } from './admit/budgets.ts';
import { unknownModelStatus } from '#api/anthropic/error-envelope.ts';
import { onlyNativeFault } from './only-native.ts';
import type { Unrouted } from './read.ts';

export interface RouteDeps {
  /** The catalogue as it is now, and how its regions are. */
  index: () => RoutingIndex;
  /** Where it is one's own, with which of them are to be tried. */
  health: (orgId?: string) => RegionHealth;
  /** Which URLs of media are taken. */
  mediaUrls: MediaUrls;
}

/** A request that may be screened and admitted. */
export interface Routed {
  /** The entry for the lane. Its region is the first candidate, until one is found that has room. */
  readonly entry: Readonly<InferenceEntry>;
  readonly resolution: Resolution;
  readonly fingerprint?: string;
  /** What bounds the tokens that it may use. */
  readonly extent: Extent;
  /** Whether its arrival has been counted against the limits of its caller. */
  readonly isPaid: boolean;
}

/**
 * What only servers take that speak the interface of a request themselves goes to these, of the endpoints that the model has;
 * so does a reference to what is not kept here, which such a server may keep.
 */
function takenBy(
  route: InferenceEntry['route'],
  { only, reference }: Unrouted['asked'],
): RouteRequest['takenBy'] {
  if (only === undefined && reference === undefined) return undefined;
  return {
    endpoint: (endpoint) => speaksItself(endpoint, route),
    orElse: (model) =>
      only === undefined ? unknownItem(reference!) : onlyNativeFault(only, model),
  };
}

/**
 * Chooses model, tier and regions of a request.
 * @throws Fault when it asks for what is not there, or cannot be had now
 */
export function routed(
  deps: RouteDeps,
  { entry, asked, betas, fingerprint }: Unrouted,
  credential: Credential,
): Routed {
  const taken = takenBy(entry.route, asked);
  const resolution = resolveRoute(
    deps.index(),
    {
      kind: KIND_OF_ROUTE[entry.route],
      unknownStatus: unknownModelStatus(entry.route),
      ...asked,
      takenBy: taken,
    },
    credential,
    deps.health(credential.orgId),
  );
  checkModalities(resolution.model, asked.media);
  checkAddresses(deps.mediaUrls, PROMPT_PARAMS[entry.route], asked.media);
  // To a server of another interface none of it is sent.
  const { regions } = deps.index().models.get(resolution.model.id)!;
  const isSent = regions.some(({ endpoints }) =>
    endpoints.some(({ endpoint }) => speaksItself(endpoint, entry.route)),
  );
  if (isSent) checkFetched(deps.mediaUrls, asked.fetched);
  const asMessage =
    entry.route === 'messages' &&
    resolution.candidates.some(({ endpoints }) =>
      endpoints.some(({ endpoint }) => endpoint.messages === true),
    );
  return {
    entry: {
      ...entry,
      ...(taken === undefined ? {} : { onlyNative: true }),
      ...(asMessage ? { asMessage, ...(betas === undefined ? {} : { betas }) } : {}),
      model: resolution.model.id,
      ...(asked.model === resolution.model.id ? {} : { requestedModel: asked.model }),
      region: resolution.candidates[0]!.region.code,
      tier: resolution.tier,
    },
    resolution,
    extent: extentOf(entry.route, asked),
    isPaid: false,
    ...(fingerprint === undefined ? {} : { fingerprint }),
  };
}

/** Of each prompt as many texts are made as the best are chosen of. An embedding is made of no token of an answer. */
function extentOf(
  route: InferenceEntry['route'],
  { n, bestOf, prompts = 1, answerTokensMax, media, reference, only }: Unrouted['asked'],
): Extent {
  // A file that a server keeps, and what it alone can read, may be of any length.
  const isLonger = reference !== undefined || only !== undefined;
  const readsMore = (media !== undefined && media.length > 0) || isLonger;
  if (route === 'embeddings') return { answers: 0, answerTokensMax: null, readsMore };
  const answers = prompts * Math.max(n ?? 1, bestOf ?? 1);
  return { answers, answerTokensMax: answerTokensMax ?? null, readsMore };
}
