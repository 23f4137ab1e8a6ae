import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { AiSdkProvider } from './ai-sdk/provider.ts';
import { OpenAiCompatibleProvider } from './openai-compatible/provider.ts';
import type { Provider } from './provider.ts';

export interface Providers {
  of: (endpoint: Endpoint) => Provider;
  close: () => Promise<void>;
}

/** The providers that speak to upstreams, by the adapter of the endpoint. `credential` looks up the secret that one names in `api_key_env`. */
export function openProviders(credential: (name: string) => string | undefined): Providers {
  const providers: Record<Endpoint['adapter'], Provider> = {
    'openai-compatible': new OpenAiCompatibleProvider(credential),
    'ai-sdk': new AiSdkProvider(credential),
  };
  return {
    of: ({ adapter }) => providers[adapter],
    close: async () => {
      await Promise.all(Object.values(providers).map((provider) => provider.close()));
    },
  };
}
