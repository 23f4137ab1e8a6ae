import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import { atFileEnd } from '#test/support/file-end.ts';

/** Models beside those of the default catalogue: each has an endpoint of its own, whose failures open no other's circuit. */
export const MODELS = {
  large: 'answers-at-length',
  told: 'says-what-it-is-told',
  chat: 'speaks-chat',
  responses: 'speaks-responses',
  anthropic: 'claude',
  either: 'claude-or-a-chat',
  google: 'gemini',
  googleEmbedding: 'gemini-embedding',
  slow: 'takes-its-time',
  nowhere: 'is-not-there',
} as const;

/** The port of a service that no machine of tests has. */
const NOTHING_LISTENS = 'http://127.0.0.1:9';

/** Where the servers listen that stand in for providers. */
export interface Origins {
  large: string;
  told: string;
  responses: string;
  native: string;
}

interface Written {
  endpoints: object[];
  models: { id: string }[];
}

const openaiCompatible = (name: string, origin: string, more: object = {}) => ({
  name,
  adapter: 'openai-compatible',
  base_url: `${origin}/v1`,
  regions: ['eu-west'],
  timeout_ms: 120_000,
  ...more,
});

const native = (provider: string, base_url: string, api_key_env: string, more: object = {}) => ({
  name: provider,
  adapter: 'ai-sdk',
  provider,
  base_url,
  api_key_env,
  regions: ['eu-west'],
  ...more,
});

const endpointsAt = (origins: Origins) => [
  openaiCompatible('large', origins.large),
  openaiCompatible('told', origins.told),
  { ...openaiCompatible('chat', ''), base_url: '${SANDBOX_URL}' },
  openaiCompatible('responses', origins.responses, { responses: true }),
  native('anthropic', `${origins.native}/v1`, 'ANTHROPIC_API_KEY', { messages: true }),
  openaiCompatible('messages', origins.native, { messages: true }),
  native('google', `${origins.native}/v1beta`, 'GEMINI_API_KEY'),
  { ...openaiCompatible('slow', ''), base_url: '${SANDBOX_URL}', timeout_ms: 1_000 },
  openaiCompatible('nowhere', NOTHING_LISTENS),
];

/** Two are as one of the default catalogue, but for their endpoints. */
const modelsLike = (modelOf: (id: string) => object) => [
  {
    ...modelOf('qwen3-embedding-8b'),
    id: MODELS.large,
    endpoints: [{ name: 'large', model: 'large' }],
  },
  {
    ...modelOf('llama-3.1-8b'),
    id: MODELS.told,
    aliases: [],
    endpoints: [{ name: 'told', model: 'm' }],
  },
  {
    id: MODELS.chat,
    kinds: ['chat'],
    context_window: 4_096,
    tokenizer: 'o200k_base',
    modalities: ['text'],
    endpoints: [{ name: 'chat', model: 'almanac' }],
    footprint: { active_b: 8 },
  },
  ...(['slow', 'nowhere'] as const).map((name) => ({
    ...modelOf('llama-3.1-8b'),
    id: MODELS[name],
    aliases: [],
    endpoints: [{ name, model: 'm' }],
  })),
  {
    id: MODELS.responses,
    kinds: ['chat'],
    context_window: 4_096,
    endpoints: [{ name: 'responses', model: 'gpt-of-the-upstream' }],
    footprint: { active_b: 8 },
  },
  {
    id: MODELS.anthropic,
    kinds: ['chat'],
    context_window: 200_000,
    endpoints: [{ name: 'anthropic', model: 'claude-sonnet-4-5' }],
    footprint: { active_b: 100, total_b: 400 },
  },
  {
    id: MODELS.either,
    kinds: ['chat'],
    context_window: 200_000,
    endpoints: [
      { name: 'messages', model: 'claude-sonnet-4-5' },
      { name: 'chat', model: 'almanac' },
    ],
    footprint: { active_b: 100, total_b: 400 },
  },
  {
    id: MODELS.google,
    kinds: ['chat'],
    context_window: 1_000_000,
    endpoints: [{ name: 'google', model: 'gemini-2.5-flash' }],
    footprint: {},
  },
  {
    id: MODELS.googleEmbedding,
    kinds: ['embedding'],
    context_window: 2_048,
    endpoints: [{ name: 'google', model: 'gemini-embedding-001' }],
    footprint: {},
  },
];

/** Writes the default catalogue with these models; returns its path, for CATALOGUE. Removed after the file's last test. */
export function writeCatalogue(origins: Origins): string {
  const directory = mkdtempSync(join(tmpdir(), 'docket-configured-'));
  atFileEnd(() => rmSync(directory, { recursive: true }));
  const path = join(directory, 'catalogue.yaml');
  const written = parse(readFileSync(DEFAULT_CATALOGUE, 'utf8')) as Written;
  const modelOf = (id: string): object => written.models.find((model) => model.id === id)!;
  const catalogue = {
    ...written,
    endpoints: [...written.endpoints, ...endpointsAt(origins)],
    models: [...written.models, ...modelsLike(modelOf)],
  };
  writeFileSync(path, stringify(catalogue));
  return path;
}
