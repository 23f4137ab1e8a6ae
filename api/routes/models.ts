import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import { type ConfidenceOf, ModelObject, modelObject } from '#api/openai/models.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { mayUseModel, modelsFor } from '#shared/catalogue/routing.ts';
import { Fault } from '#shared/kernel/errors.ts';

const ModelList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelObject),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Literal(false),
  },
  { title: 'ModelList' },
);

const MODEL: ModelObject = {
  id: 'llama-3.1-8b',
  object: 'model',
  created: 1_721_692_800,
  owned_by: 'meta',
  type: 'model',
  display_name: 'llama-3.1-8b',
  created_at: '2024-07-23T00:00:00.000Z',
  context_window: 131_072,
  modalities: ['text'],
  kinds: ['chat', 'completion'],
  aliases: ['sandbox-small'],
  architecture: { input_modalities: ['text'], output_modalities: ['text'] },
  max_n: 8,
  regions: ['eu-west', 'eu-north', 'us-east'],
  tiers: ['audit', 'audit_plus', 'enterprise'],
  footprint: { source: 'factor_set', confidence: 'published' },
};

/** Anthropic's clients look for the ids of a page, and whether there is another. */
const listOf = (data: ModelObject[]): Static<typeof ModelList> => ({
  object: 'list',
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: false,
});

/** Ids may hold slashes, so the rest of the path is the id. */
const Params = Type.Object({
  '*': Type.String({ description: 'Id or alias of the model', examples: [MODEL.id] }),
});

export interface ModelRoutesOptions {
  index: () => RoutingIndex;
  confidenceOf: ConfidenceOf;
}

/** The models of the caller's account. */
export const modelRoutes: FastifyPluginAsyncTypebox<ModelRoutesOptions> = async (
  app,
  { index, confidenceOf },
) => {
  const config = {
    scope: 'inference:read',
    asksNoStore: true,
    takesApiKeyHeader: true,
  } as const;
  app.get(
    '/models',
    {
      config,
      schema: {
        operationId: 'listModels',
        tag: 'Models',
        summary: 'List models',
        description: 'The models that your account may use, with what the gateway knows of them.',
        response: {
          200: json('All of them, in one page.', ModelList, {
            models: listOf([MODEL]),
          }),
        },
      },
    },
    ({ credential }) =>
      listOf(
        modelsFor(index(), credential).map((routes) =>
          modelObject(routes, credential, confidenceOf),
        ),
      ),
  );
  app.get(
    '/models/*',
    {
      config,
      schema: {
        operationId: 'retrieveModel',
        tag: 'Models',
        summary: 'Read a model',
        description: 'One model, by its id or an alias. These may contain slashes, escaped or not.',
        wildcard: 'id',
        params: Params,
        response: { 200: json('The model.', ModelObject, { model: MODEL }) },
        errors: ['model_not_found'],
      },
    },
    ({ credential, params }) => {
      const routes = index().byName.get(params['*']);
      if (routes === undefined || !mayUseModel(routes.model, credential))
        throw new Fault('model_not_found');
      return modelObject(routes, credential, confidenceOf);
    },
  );
};
