import type { Endpoint, ModelKind } from '#shared/catalogue/catalogue.ts';
import { type ClosestRecord, closestRecord } from '#shared/methodology/closest-record.ts';
import type { FactorSet } from '#shared/methodology/factor-set.ts';
import { inWords } from '#workers/inference/providers/failure-words.ts';
import type { ListedModel } from '#workers/inference/providers/provider.ts';
import { openProviders } from '#workers/inference/providers/providers.ts';
import type { FoundProvider } from './in-environment.ts';
import type { ProviderRow } from './table.ts';

/** What one provider can be asked for. */
export interface Offer {
  row: ProviderRow;
  baseUrl: string;
  keyVariable: string | undefined;
  /** Never empty. */
  models: OfferedModel[];
}

export interface OfferedModel {
  /** The provider's own name for it. */
  id: string;
  kinds: readonly ModelKind[];
  /** Absent where the provider does not say. */
  contextWindow?: number;
  footprint: ClosestRecord;
}

/** Offers, and a line for each provider about which there is something to say. */
export interface Offers {
  offers: Offer[];
  lines: string[];
}

export interface OfferOptions {
  credential: (name: string) => string | undefined;
  factors: FactorSet;
  timeoutMs: number;
}

/** The longest list known has some hundred; with all providers it still fits in a catalogue. */
const MODELS_MAX = 400;
/** What names of models are made of. Not `$`, `{` and `}`: the catalogue would replace `${NAME}` by what is in the environment. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}$/;
/** Models that take or give no text, by the names that providers give them. */
const NOT_FOR_TEXT =
  /audio|realtime|transcri|whisper|speech|voxtral|(^|[-_/])(tts|image|video|live|ocr|aqa)([-_]|$)|dall-e|sora|veo-|imagen|lyria|moderation|guard|rerank|robotics|computer-use/i;
const EMBEDDING = /embed|(^|[-_/])(bge|gte|e5|minilm|all-minilm)([-_:]|$)/i;
/** Of OpenAI: they complete a text, and do not chat. */
const COMPLETES = /^(babbage|davinci)-|-turbo-instruct/;

/** Asks each provider for its models, all at once. One that does not answer is left out, and a line says why. */
export async function askProviders(
  found: readonly FoundProvider[],
  options: OfferOptions,
): Promise<Offers> {
  const providers = openProviders(options.credential);
  try {
    const asked = await Promise.all(
      found.map(async (one): Promise<{ offer?: Offer; lines: string[] }> => {
        const { title } = one.row;
        if ('problem' in one) return { lines: [`${title}: ${one.problem}`] };
        const notes = one.note === undefined ? [] : [`${title}: ${one.note}`];
        const endpoint = endpointOf(one);
        const list = await providers.of(endpoint).list(endpoint, options.timeoutMs);
        if ('failure' in list) {
          return { lines: [...notes, `${title}: ${inWords(list.failure, endpoint, '')}`] };
        }
        const models = offered(list.models ?? [], one.row, options.factors);
        if (models.length === 0) return { lines: [...notes, `${title}: it lists no model`] };
        const { row, baseUrl, keyVariable } = one;
        return { offer: { row, baseUrl, keyVariable, models }, lines: notes };
      }),
    );
    return {
      offers: asked.flatMap(({ offer }) => offer ?? []),
      lines: asked.flatMap(({ lines }) => lines),
    };
  } finally {
    await providers.close();
  }
}

function endpointOf({
  row,
  baseUrl,
  keyVariable,
}: Extract<FoundProvider, { baseUrl: string }>): Endpoint {
  const { name, adapter, provider } = row;
  return {
    name,
    adapter,
    baseUrl,
    regions: [],
    timeoutMs: 0,
    ...(provider === undefined ? {} : { provider }),
    ...(keyVariable === undefined ? {} : { apiKeyEnv: keyVariable }),
  };
}

function offered(
  list: readonly ListedModel[],
  row: ProviderRow,
  factors: FactorSet,
): OfferedModel[] {
  const seen = new Set<string>();
  return list
    .flatMap(({ id, contextWindow, kinds = kindsOf(id, row) }) => {
      if (!NAME.test(id) || seen.has(id) || NOT_FOR_TEXT.test(id) || kinds.length === 0) return [];
      seen.add(id);
      const isEmbedding = kinds.includes('embedding');
      const footprint = closestRecord(id, factors, { isEmbedding, otherwiseB: row.otherwiseB });
      return [{ id, kinds, ...(contextWindow === undefined ? {} : { contextWindow }), footprint }];
    })
    .slice(0, MODELS_MAX);
}

function kindsOf(id: string, { kinds }: ProviderRow): readonly ModelKind[] {
  if (EMBEDDING.test(id)) return ['embedding'];
  return COMPLETES.test(id) ? ['completion'] : kinds;
}
