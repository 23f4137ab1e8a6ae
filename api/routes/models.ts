import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import { type ConfidenceOf, ModelObject, modelObject } from '#api/openai/models.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { mayUseModel, modelsFor } from '#shared/catalogue/routing.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';

const ModelList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(ModelObject),
    first_id: Type.Union([Type.String(), Type.Null()]),
    last_id: Type.Union([Type.String(), Type.Null()]),
    has_more: Type.Boolean(),
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
const listOf = (data: ModelObject[], hasMore = false): Static<typeof ModelList> => ({
  object: 'list',
  data,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
  has_more: hasMore,
});

/** As Anthropic's interface has it. */
const LIMIT_MAX = 1_000;
const Cursor = Type.Optional(Type.String({ description: 'The id of a model of the list.' }));
/** Programs send further parameters of their own, which change nothing. */
const Page = Type.Object(
  {
    after_id: Cursor,
    before_id: Cursor,
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMIT_MAX,
        description: 'How many models at most; all where it is left out.',
      }),
    ),
  },
  { additionalProperties: true },
);

/** The part of a list that is asked for. */
function pageOf(
  all: readonly ModelObject[],
  { after_id: after, before_id: before, limit = all.length }: Static<typeof Page>,
): Static<typeof ModelList> {
  if (before === undefined) {
    const start = after === undefined ? 0 : placeOf(all, 'after_id', after) + 1;
    return listOf(all.slice(start, start + limit), start + limit < all.length);
  }
  if (after !== undefined)
    throw invalidParam('before_id', '`before_id` and `after_id` cannot both be given.');
  const end = placeOf(all, 'before_id', before);
  const start = Math.max(0, end - limit);
  return listOf(all.slice(start, end), start > 0);
}

function placeOf(all: readonly ModelObject[], param: string, id: string): number {
  const at = all.findIndex((model) => model.id === id);
  if (at === -1) throw invalidParam(param, `\`${param}\` names no model of this list.`);
  return at;
}

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
        description:
          'The models that your account may use, with what the gateway knows of them: all of them, or a page as Anthropic’s interface has it.',
        querystring: Page,
        response: {
          200: json('The models.', ModelList, {
            models: listOf([MODEL]),
          }),
        },
      },
    },
    ({ credential, query }) =>
      pageOf(
        modelsFor(index(), credential).map((routes) =>
          modelObject(routes, credential, confidenceOf),
        ),
        query,
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
