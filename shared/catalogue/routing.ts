import { TEXTS_MAX } from '#shared/kernel/inference.ts';
import type { Endpoint, Model, ModelKind, Region, RegionStatus } from './catalogue.ts';
import { CODES } from '#shared/kernel/error-codes.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { type Plan, PLANS, planCovers } from '#shared/kernel/plan.ts';
import { circuitName } from './circuit-breaker.ts';
import type { ModelRoutes, RegionRoute, RoutingIndex } from './route-index.ts';

export type RegionState = RegionStatus | 'saturated';

/** The state of regions and endpoints at this moment. */
export interface RegionHealth {
  /** States set at run time (by an operator, or because a region is full). Others have the catalogue's status. */
  states: ReadonlyMap<string, RegionState>;
  /** `circuitName` of the endpoints whose circuit breaker is open in a region. */
  openCircuits: ReadonlySet<string>;
  /**
   * Whether this request may be the one that tries an open circuit, where nothing else is left to it; true once in a
   * while for a circuit whose trial is due. None may when it is absent.
   */
  takeTrial?: (circuit: string) => boolean;
  /** Open circuits at whose address something answers: requests that have other regions may try these too. */
  reached?: ReadonlySet<string>;
}

/** The fields of a request that choose model, region and tier. Null and absent are the same. */
export interface RouteRequest {
  model: string;
  kind: ModelKind;
  /** The status that tells of an unknown model, where the interface has one of its own. */
  unknownStatus?: number | undefined;
  /** The body's `region`. */
  region?: string | null | undefined;
  /** The header `x-region`. */
  regionHeader?: string | null | undefined;
  tier?: string | null | undefined;
  /** The number of choices that is asked for. */
  n?: number | null | undefined;
  /** The number that is generated to give the best of them. */
  bestOf?: number | null | undefined;
  /** For how many prompts each; for one when absent. */
  prompts?: number | undefined;
  /** How many tools it brings, and in which field. */
  tools?: { field: 'tools' | 'functions'; count: number } | undefined;
  /** Which endpoints take it, where not all do, and what is said where none does. */
  takenBy?:
    | { endpoint: (endpoint: Endpoint) => boolean; orElse: (model: string) => Fault }
    | undefined;
  /** Of an embeddings request: how many embeddings it asks for, and with how many values each. */
  embeddings?: { inputs: number; dimensions?: number | null | undefined } | undefined;
}

/**
 * Values of all embeddings of one answer: 22 MB in base64, up to 90 MB as numbers. A small request could ask for many
 * times that, and every process on the way holds what is answered.
 */
export const EMBEDDED_VALUES_MAX = 4_194_304;
/** Of models whose catalogue entry says nothing: as many as the largest in common use have. */
const DIMENSIONS_ASSUMED = 4_096;

export interface RouteAccount {
  orgId: string;
  plan: Plan;
  /** What the organisation has chosen to use of what is offered; null for all of it. */
  allowedRegions: readonly string[] | null;
  allowedModels: readonly string[] | null;
}

export interface Resolution {
  model: Model;
  tier: Plan;
  /** Regions to run it in, best first; never empty. A pinned request has exactly its region. */
  candidates: readonly RegionRoute[];
  isPinned: boolean;
}

/**
 * Decides model, tier and regions of a request.
 *
 * Throws a Fault: what `takenBy` says, `invalid_model`, `invalid_region`, `invalid_tier`, `invalid_n`, `invalid_tools`, `invalid_functions`,
 * `invalid_input` when the request asks for what does not exist or is not for this account; `region_degraded`,
 * `region_saturated`, `region_decommissioned` when it exists and cannot be had now. Problems of the request are reported
 * before those of a region.
 */
export function resolveRoute(
  index: RoutingIndex,
  request: RouteRequest,
  account: RouteAccount,
  health: RegionHealth,
): Resolution {
  const routes = takingRoutes(findModel(index, request, account), request.takenBy);
  const pin = findPin(index, request, account);
  const pinned = pin === undefined ? undefined : offeredIn(routes, pin, health);
  const tier = chooseTier(routes, request.tier, account.plan);
  checkChoices(routes.model, request);
  checkTools(routes.model, request.tools);
  checkEmbeddings(routes.model, request.embeddings);
  const candidates = pinned === undefined ? healthyRegions(routes, account, health) : [pinned];
  if (pinned !== undefined) {
    const state = stateOf(pinned, health);
    if (state !== 'normal' && !mayTry(pinned, health)) throw regionFault(state, pinned.region.code);
  }
  return { model: routes.model, tier, candidates, isPinned: pinned !== undefined };
}

/** The routes of a model with the endpoints that take a request. */
function takingRoutes(routes: ModelRoutes, takenBy: RouteRequest['takenBy']): ModelRoutes {
  if (takenBy === undefined) return routes;
  const regions = routes.regions
    .map(({ region, endpoints }) => ({
      region,
      endpoints: endpoints.filter(({ endpoint }) => takenBy.endpoint(endpoint)),
    }))
    .filter(({ endpoints }) => endpoints.length > 0);
  if (regions.length === 0) throw takenBy.orElse(routes.model.id);
  return { ...routes, regions, byRegion: new Map(regions.map((one) => [one.region.code, one])) };
}

/** The models that an account may use, in the catalogue's order. */
export function modelsFor(index: RoutingIndex, account: RouteAccount): ModelRoutes[] {
  return [...index.models.values()].filter(({ model }) => mayUseModel(model, account));
}

/** Whether a region is open to an account, and not left out by the organisation itself. */
export function mayUseRegion(region: Region, account: RouteAccount): boolean {
  return isOpenTo(region, account) && (account.allowedRegions?.includes(region.code) ?? true);
}

/** Whether a model is open to an account, and not left out by the organisation itself. */
export function mayUseModel(model: Model, account: RouteAccount): boolean {
  return isOpenTo(model, account) && (account.allowedModels?.includes(model.id) ?? true);
}

/** True when a model or region is for this account: neither its plan nor its organisation is left out. */
export function isOpenTo(
  resource: Pick<Model | Region, 'plans' | 'organisations'>,
  account: Pick<RouteAccount, 'orgId' | 'plan'>,
): boolean {
  return (
    (resource.plans?.includes(account.plan) ?? true) &&
    (resource.organisations?.includes(account.orgId) ?? true)
  );
}

/**
 * The model that a request names.
 * @throws Fault `invalid_model` when it is not there, not for this account, or of another kind
 */
export function findModel(
  index: RoutingIndex,
  request: Pick<RouteRequest, 'model' | 'kind' | 'unknownStatus'>,
  account: RouteAccount,
): ModelRoutes {
  const routes = index.byName.get(request.model);
  // One answer for both, so that a caller does not learn which models other customers have.
  if (routes === undefined || !isOpenTo(routes.model, account)) {
    throw new Fault('invalid_model', {
      message: `${CODES.invalid_model.message} ${offeredTo(index, request.kind, account)}`,
      status: request.unknownStatus,
    });
  }
  if (!mayUseModel(routes.model, account)) {
    throw invalidParam(
      'model',
      `The settings of your organisation leave out the model ${routes.model.id}.`,
    );
  }
  if (!routes.model.kinds.includes(request.kind)) {
    const kinds = routes.model.kinds.join(' and ');
    throw invalidParam(
      'model',
      `The model ${routes.model.id} is for ${kinds} requests, not for ${request.kind} requests.`,
    );
  }
  return routes;
}

/** So many models are named to who asks for one that is not there, and no more characters of their names. */
const NAMED_MAX = 5;
const NAMED_CHARS_MAX = 300;

/** Which models an account may use instead, in a sentence. */
function offeredTo(index: RoutingIndex, kind: ModelKind, account: RouteAccount): string {
  const all = modelsFor(index, account).filter(({ model }) => model.kinds.includes(kind));
  const named: string[] = [];
  let chars = 0;
  for (const { model } of all.slice(0, NAMED_MAX)) {
    chars += model.id.length;
    if (chars <= NAMED_CHARS_MAX) named.push(model.id);
  }
  if (named.length === 0) return `No model for ${kind} requests is open to it.`;
  const more = all.length - named.length;
  const last = more > 0 ? `${more} more (GET /v1/models)` : named.pop()!;
  return `It may use ${named.length === 0 ? last : `${named.join(', ')} and ${last}`}.`;
}

function findPin(
  index: RoutingIndex,
  request: RouteRequest,
  account: RouteAccount,
): Region | undefined {
  const { region, regionHeader } = request;
  if (region != null && regionHeader != null && region !== regionHeader) {
    throw invalidParam('region', 'The body and the header `x-region` name different regions.');
  }
  const code = region ?? regionHeader;
  if (code == null) return undefined;
  const found = index.regions.get(code);
  if (found === undefined || !isOpenTo(found, account)) {
    throw new Fault('invalid_region');
  }
  if (!mayUseRegion(found, account)) {
    throw invalidParam('region', `The settings of your organisation leave out the region ${code}.`);
  }
  return found;
}

/** A region that is gone offers no model: that it is gone is the better answer. */
function offeredIn(routes: ModelRoutes, region: Region, health: RegionHealth): RegionRoute {
  const route = routes.byRegion.get(region.code);
  if (route !== undefined) return route;
  const state = health.states.get(region.code) ?? region.status;
  if (state === 'decommissioned') throw regionFault(state, region.code);
  throw invalidParam(
    'model',
    `The model ${routes.model.id} is not offered in the region ${region.code}.`,
  );
}

function chooseTier(routes: ModelRoutes, wanted: string | null | undefined, plan: Plan): Plan {
  const offered = routes.tiers;
  if (wanted == null) {
    const best = offered.findLast((tier) => planCovers(plan, tier));
    if (best === undefined)
      throw invalidParam(
        'tier',
        `The model ${routes.model.id} is not offered on this account's plan.`,
      );
    return best;
  }
  const tier = PLANS.find((one) => one === wanted);
  if (tier === undefined)
    throw invalidParam('tier', `\`tier\` must be one of ${PLANS.join(', ')}.`);
  if (!planCovers(plan, tier)) throw new Fault('invalid_tier', { values: { tier, plan } });
  if (!offered.includes(tier))
    throw invalidParam('tier', `The tier ${tier} is not offered for the model ${routes.model.id}.`);
  return tier;
}

function checkChoices({ id, maxN }: Model, { n, bestOf, prompts = 1 }: RouteRequest): void {
  const each = Math.max(n ?? 1, bestOf ?? 1);
  const param = each === (n ?? 1) ? 'n' : 'best_of';
  if (each > maxN) {
    const choices = maxN === 1 ? '1 choice' : `${maxN} choices`;
    throw new Fault('invalid_n', { values: { model: id, choices }, param });
  }
  const texts = each * prompts;
  if (texts <= TEXTS_MAX) return;
  const message = `${each} for each of ${prompts} prompts are ${texts} texts, and one request is for ${TEXTS_MAX} at most.`;
  throw new Fault('invalid_n', { message, param });
}

function checkTools({ id, maxTools = Infinity }: Model, tools: RouteRequest['tools']): void {
  if (tools === undefined || tools.count <= maxTools) return;
  throw invalidParam(
    tools.field,
    `Tools in this request: ${tools.count}; the model ${id} takes at most ${maxTools}.`,
  );
}

function checkEmbeddings(model: Model, asked: RouteRequest['embeddings']): void {
  if (asked === undefined) return;
  const dimensions = asked.dimensions ?? model.dimensions ?? DIMENSIONS_ASSUMED;
  if (asked.inputs * dimensions <= EMBEDDED_VALUES_MAX) return;
  const [values, each, fitting] = [
    EMBEDDED_VALUES_MAX,
    dimensions,
    Math.floor(EMBEDDED_VALUES_MAX / dimensions),
  ].map((number) => number.toLocaleString('en-US'));
  throw invalidParam(
    'input',
    `One answer holds at most ${values} values. With ${each} dimensions, \`input\` may have at most ${fitting} entries: send it in several requests.`,
  );
}

function healthyRegions(
  routes: ModelRoutes,
  account: RouteAccount,
  health: RegionHealth,
): readonly RegionRoute[] {
  const open = routes.regions.filter((route) => mayUseRegion(route.region, account));
  if (open.length === 0) {
    throw invalidParam(
      'model',
      `The model ${routes.model.id} is not offered in a region that this account may use.`,
    );
  }
  const healthy = open.filter((route) => stateOf(route, health) === 'normal');
  if (healthy.length > 0) {
    // Those that would be preferred to all of these, or no request without a pin would ever find out that one is back.
    const preferred = open.slice(0, open.indexOf(healthy[0]!));
    const back = preferred.find((route) => isReached(route, health) && mayTry(route, health));
    return back === undefined ? healthy : [back, ...healthy];
  }
  const tried = open.find((route) => mayTry(route, health));
  if (tried !== undefined) return [tried];
  throw noRegionFault(open.map((route) => stateOf(route, health)));
}

/** A region whose every endpoint for the model is cut off is as good as degraded. */
function stateOf(route: RegionRoute, health: RegionHealth): RegionState {
  const state = health.states.get(route.region.code) ?? route.region.status;
  if (state !== 'normal' || health.openCircuits.size === 0) return state;
  const { code } = route.region;
  const cutOff = route.endpoints.every(({ endpoint }) =>
    health.openCircuits.has(circuitName(code, endpoint.name)),
  );
  return cutOff ? 'degraded' : 'normal';
}

/** Whether a region that only its circuits keep closed is to be tried by this request: without one, nothing would heal it. */
function mayTry({ region, endpoints }: RegionRoute, health: RegionHealth): boolean {
  const { states, takeTrial } = health;
  if (takeTrial === undefined || (states.get(region.code) ?? region.status) !== 'normal')
    return false;
  return endpoints.some(({ endpoint }) => takeTrial(circuitName(region.code, endpoint.name)));
}

function isReached({ region, endpoints }: RegionRoute, { reached }: RegionHealth): boolean {
  return endpoints.some(({ endpoint }) => reached?.has(circuitName(region.code, endpoint.name)));
}

/** The 503 when default routing finds no healthy region: the state that promises most for a retry. */
function noRegionFault(states: readonly RegionState[]): Fault {
  const state =
    (['saturated', 'degraded'] as const).find((one) => states.includes(one)) ?? 'decommissioned';
  return regionFault(state, null);
}

/**
 * The 503 when the pinned region cannot take a request; or none can that it might have gone to, of which it then names
 * none: its caller has chosen none, and the one that was tried last is as good as any.
 */
export function regionFault(
  state: Exclude<RegionState, 'normal'>,
  pin: string | null,
  details: Pick<
    NonNullable<ConstructorParameters<typeof Fault>[1]>,
    'headers' | 'retryAfterMs'
  > = {},
): Fault {
  return pin === null
    ? new Fault(`region_${state}`, {
        ...details,
        message: 'No region takes requests for this model now.',
      })
    : new Fault(`region_${state}`, { ...details, values: { where: `The region ${pin}` } });
}
