import Type from 'typebox';
import type { Footprint, ModelKind } from '#shared/catalogue/catalogue.ts';
import { PLANS, planCovers } from '#shared/kernel/plan.ts';
import { mayUseRegion, type RouteAccount } from '#shared/catalogue/routing.ts';
import type { ModelRoutes } from '#shared/catalogue/route-index.ts';

/** A model in the shapes of OpenAI and of Anthropic, with what this service adds. */
export const ModelObject = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Epoch seconds.' }),
    owned_by: Type.String(),
    type: Type.Literal('model'),
    display_name: Type.String({ description: 'The id.' }),
    created_at: Type.String({ format: 'date-time' }),
    context_window: Type.Integer({ description: 'Tokens.' }),
    modalities: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Kinds of content that it takes, where that is known; others are refused.',
      }),
    ),
    kinds: Type.Array(Type.Enum(['chat', 'completion', 'embedding'])),
    aliases: Type.Array(Type.String(), {
      description: 'Other names by which it can be asked for.',
    }),
    architecture: Type.Object(
      {
        input_modalities: Type.Optional(Type.Array(Type.String())),
        output_modalities: Type.Array(Type.Enum(['text', 'embeddings'])),
      },
      {
        description:
          'In the words of OpenRouter’s list: a model that only embeds puts out no text.',
      },
    ),
    max_n: Type.Integer({ description: 'Choices that one request may ask for.' }),
    regions: Type.Array(Type.String(), {
      description:
        'Regions that this account may pin a request to, in the order of default routing.',
    }),
    tiers: Type.Array(Type.Enum(PLANS), { description: 'Tiers that this account may ask for.' }),
    footprint: Type.Object({
      source: Type.Enum(['factor_set', 'declared', 'none'], {
        description: 'Where the size of the model comes from. With `none`, receipts are degraded.',
      }),
      confidence: Type.Union([Type.String(), Type.Null()], {
        description: 'How sure the factor set is of the size: `published` or `guess`.',
      }),
    }),
  },
  { title: 'Model' },
);

export type ModelObject = Type.Static<typeof ModelObject>;

/** The certainty of the factor set of a model record's size; undefined for a record that it does not have. */
export type ConfidenceOf = (ref: string) => string | undefined;

/** A model as an account that may use it sees it. */
export function modelObject(
  { model, regions, tiers }: ModelRoutes,
  account: RouteAccount,
  confidenceOf: ConfidenceOf = () => undefined,
): ModelObject {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    type: 'model',
    display_name: model.id,
    created_at: new Date(model.created * 1_000).toISOString(),
    context_window: model.contextWindow,
    ...(model.modalities === undefined ? {} : { modalities: [...model.modalities] }),
    kinds: [...model.kinds],
    aliases: [...(model.aliases ?? [])],
    architecture: {
      ...(model.modalities === undefined ? {} : { input_modalities: [...model.modalities] }),
      output_modalities: [...new Set(model.kinds.map(outputOf))],
    },
    max_n: model.maxN,
    regions: regions
      .filter(({ region }) => region.status !== 'decommissioned' && mayUseRegion(region, account))
      .map(({ region }) => region.code),
    tiers: tiers.filter((tier) => planCovers(account.plan, tier)),
    footprint: footprintOf(model.footprint, confidenceOf),
  };
}

const outputOf = (kind: ModelKind): 'text' | 'embeddings' =>
  kind === 'embedding' ? 'embeddings' : 'text';

function footprintOf(
  { ref, activeB, totalB }: Footprint,
  confidenceOf: ConfidenceOf,
): ModelObject['footprint'] {
  if (ref !== undefined) return { source: 'factor_set', confidence: confidenceOf(ref) ?? null };
  return {
    source: activeB === undefined && totalB === undefined ? 'none' : 'declared',
    confidence: null,
  };
}
