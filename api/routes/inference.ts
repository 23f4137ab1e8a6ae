import type { FastifyInstance } from 'fastify';
import type { Route } from '#shared/kernel/inference.ts';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';

const PATHS: Record<Route, string> = {
  'chat.completions': '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
};

/** The three operations that reach a model. */
export function inferenceRoutes(app: FastifyInstance, deps: InferenceDeps): void {
  for (const [route, path] of Object.entries(PATHS) as [Route, string][]) {
    app.post(path, { config: { scope: 'inference:write', rawBody: true } }, (request, reply) =>
      handle(deps, route, request, reply),
    );
  }
}
