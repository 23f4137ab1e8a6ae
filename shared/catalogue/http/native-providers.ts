import type { EmbeddingModelV4, LanguageModelV4 } from '@ai-sdk/provider';

/** One provider's models behind one address with one credential. */
export interface NativeProvider {
  language(model: string): LanguageModelV4;
  /** Absent when the provider has no embeddings. */
  embedding?(model: string): EmbeddingModelV4;
}

interface NativeSettings {
  baseURL: string;
  apiKey: string;
  fetch: typeof globalThis.fetch;
}

interface Row {
  /** Loads the provider's library. Nothing of it is loaded before an endpoint of the catalogue is called. */
  load: (settings: NativeSettings) => Promise<NativeProvider>;
  /** Headers with which the provider lists its models. */
  headers: (apiKey: string) => Record<string, string>;
  /** The query with which all of them come at once. */
  wholeList: string;
}

/** The version of Anthropic's interface that its library and the gateway speak. */
export const ANTHROPIC_VERSION = '2023-06-01';

/** The values of `provider` in the catalogue. Another of the AI SDK's providers is one more row and its package. */
export const NATIVE_PROVIDERS: Readonly<Record<string, Row>> = {
  anthropic: {
    async load(settings) {
      const { createAnthropic } = await import('@ai-sdk/anthropic');
      const anthropic = createAnthropic(settings);
      return { language: (model) => anthropic.languageModel(model) };
    },
    headers: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': ANTHROPIC_VERSION }),
    wholeList: '?limit=1000',
  },
  google: {
    async load(settings) {
      const { createGoogle } = await import('@ai-sdk/google');
      const google = createGoogle(settings);
      return {
        language: (model) => google.languageModel(model),
        embedding: (model) => google.embeddingModel(model),
      };
    },
    headers: (apiKey) => ({ 'x-goog-api-key': apiKey }),
    wholeList: '?pageSize=1000',
  },
};
