import type { Catalogue, Endpoint, Model, ModelKind, Region } from './catalogue.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { type Plan, PLANS } from '#shared/kernel/plan.ts';

/** An endpoint that serves a model, and the model's name there. */
interface RouteEndpoint {
  endpoint: Endpoint;
  /** The upstream's name of the model. */
  model: string;
}

/** One region that offers a model, with its endpoints in the catalogue's order of preference. */
export interface RegionRoute {
  region: Region;
  endpoints: readonly RouteEndpoint[];
}

/** The places where a model can be run. */
export interface ModelRoutes {
  model: Model;
  /** Regions that offer the model, in the catalogue's order of regions: the order of default routing. */
  regions: readonly RegionRoute[];
  byRegion: ReadonlyMap<string, RegionRoute>;
  /** Ascending. */
  tiers: readonly Plan[];
}

/** The catalogue, arranged once so that resolving a request is a few look-ups. */
export interface RoutingIndex {
  /** By id. */
  models: ReadonlyMap<string, ModelRoutes>;
  /** The same by id and by alias. */
  byName: ReadonlyMap<string, ModelRoutes>;
  regions: ReadonlyMap<string, Region>;
  /** Of its prices; null where there are none. */
  currency: string | null;
}

export const KIND_OF_ROUTE: Readonly<Record<Route, ModelKind>> = {
  'chat.completions': 'chat',
  completions: 'completion',
  embeddings: 'embedding',
  responses: 'chat',
  messages: 'chat',
};

/** Whether an endpoint speaks the interface of a route itself. */
export function speaksItself(
  { responses, messages }: Pick<Endpoint, 'responses' | 'messages'>,
  route: Route,
): boolean {
  if (route === 'responses') return responses === true;
  return route !== 'messages' || messages === true;
}

/** Builds the index. The catalogue has been checked: its references exist. */
export function indexCatalogue(catalogue: Catalogue): RoutingIndex {
  const endpoints = new Map(catalogue.endpoints.map((endpoint) => [endpoint.name, endpoint]));
  const models = catalogue.models.map((model) => routesOf(model, catalogue.regions, endpoints));
  return {
    currency: catalogue.currency ?? null,
    regions: new Map(catalogue.regions.map((region) => [region.code, region])),
    models: new Map(models.map((routes) => [routes.model.id, routes])),
    byName: new Map(
      models.flatMap((routes) => namesOf(routes.model).map((name) => [name, routes] as const)),
    ),
  };
}

/** The names by which a model can be asked for; its id is the first. */
function namesOf({ id, aliases = [] }: Pick<Model, 'id' | 'aliases'>): string[] {
  return [id, ...aliases];
}

function routesOf(
  model: Model,
  regions: readonly Region[],
  endpoints: ReadonlyMap<string, Endpoint>,
): ModelRoutes {
  const all = model.endpoints.flatMap(({ name, model: upstreamModel }) => {
    const endpoint = endpoints.get(name);
    return endpoint === undefined ? [] : [{ endpoint, model: upstreamModel }];
  });
  const offered = regions
    .map((region) => ({
      region,
      endpoints: all.filter(({ endpoint }) => endpoint.regions.includes(region.code)),
    }))
    .filter((route) => route.endpoints.length > 0);
  return {
    model,
    regions: offered,
    byRegion: new Map(offered.map((route) => [route.region.code, route])),
    tiers: PLANS.filter((tier) => model.tiers?.includes(tier) ?? true),
  };
}
