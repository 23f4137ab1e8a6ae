import type { FastifyInstance, FastifySchema } from 'fastify';
import type { RouteScope } from '#api/plugins/authenticate.ts';
import type { Method } from './document-shape.ts';

declare module 'fastify' {
  interface FastifySchema {
    tags?: readonly string[];
    summary?: string;
    /** Not in the description: pages, and second addresses of the same. */
    hide?: boolean;
  }
}

export interface DocumentedRoute {
  method: Method;
  /** As the router has it: `/v1/keys/:id`. */
  url: string;
  scope: RouteScope;
  schema: FastifySchema;
}

const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);

/** Remembers every route that is added from now on and is meant for programs: all but the dashboard's pages. */
export function documentedRoutes(app: FastifyInstance): readonly DocumentedRoute[] {
  const routes: DocumentedRoute[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const scope = config?.scope;
    if (scope === undefined || scope === 'session' || schema?.hide === true) return;
    for (const one of [method].flat().map((name) => name.toLowerCase())) {
      // HEAD goes with each GET.
      if (METHODS.has(one))
        routes.push({ method: one as Method, url, scope, schema: schema ?? {} });
    }
  });
  return routes;
}
