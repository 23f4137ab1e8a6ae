import type { Catalogue, Endpoint, Model, Region } from '#shared/catalogue/catalogue.ts';

/** Catalogue values for tests; each takes only what the test is about. */
export const region = (code: string, over: Partial<Region> = {}): Region => ({
  code,
  name: code,
  zone: 'FRA',
  operator: { name: 'example' },
  capacity: 10,
  status: 'normal',
  ...over,
});

export const endpoint = (
  name: string,
  regions: string[],
  over: Partial<Endpoint> = {},
): Endpoint => ({
  name,
  adapter: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:8000/v1',
  regions,
  timeoutMs: 1000,
  ...over,
});

export const model = (id: string, endpoints: string[], over: Partial<Model> = {}): Model => ({
  id,
  kinds: ['chat'],
  contextWindow: 4096,
  modalities: ['text'],
  maxN: 8,
  ownedBy: 'example',
  created: 0,
  endpoints: endpoints.map((name) => ({ name, model: `up/${id}` })),
  footprint: {},
  ...over,
});

export const catalogue = (
  regions: Region[],
  endpoints: Endpoint[],
  models: Model[],
): Catalogue => ({ version: 1, digest: '', regions, endpoints, models });
