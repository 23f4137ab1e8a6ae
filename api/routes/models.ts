import type { FastifyInstance } from 'fastify';
import { Fault } from '#shared/kernel/errors.ts';
import { modelsFor } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { type ConfidenceOf, modelObject } from '#api/openai/models.ts';

export interface ModelRoutesOptions {
  index: () => RoutingIndex;
  confidenceOf: ConfidenceOf;
}

/** The models of the caller's account. Ids may hold slashes, so the rest of the path is the id. */
export function modelRoutes(
  app: FastifyInstance,
  { index, confidenceOf }: ModelRoutesOptions,
): void {
  const config = { scope: 'inference:read' } as const;
  app.get(
    '/models',
    { config, schema: { tags: ['Models'], summary: 'List models' } },
    (request) => ({
      object: 'list',
      data: modelsFor(index(), request.credential).map((routes) =>
        modelObject(routes, request.credential, confidenceOf),
      ),
    }),
  );
  app.get<{ Params: { '*': string } }>(
    '/models/*',
    { config, schema: { tags: ['Models'], summary: 'One model' } },
    (request) => {
      const id = request.params['*'];
      const routes = modelsFor(index(), request.credential).find(({ model }) => model.id === id);
      if (routes === undefined) throw new Fault('model_not_found');
      return modelObject(routes, request.credential, confidenceOf);
    },
  );
}
