import type { Endpoint, ModelKind } from '#shared/catalogue/catalogue.ts';
import type { PROVIDER_NAMES } from '#shared/config/settings.ts';

/** A provider whose models are offered when the environment has its key or its address. */
export interface ProviderRow {
  /** Of its endpoint and of its region in the catalogue. */
  readonly name: (typeof PROVIDER_NAMES)[number];
  readonly title: string;
  readonly adapter: Endpoint['adapter'];
  /** For `ai-sdk`. */
  readonly provider?: string;
  /** The variable with the credential; without one it needs none. */
  readonly keyVariable?: string;
  /** The variable with its address, where one account's or one machine's differs from another's. */
  readonly baseVariable?: string;
  /** Its documented address; without one the variable must be set. */
  readonly baseUrl?: string;
  /** What ends its address, for those who leave that out. */
  readonly basePath: string;
  /** Where it listens when nothing is configured, on this machine. */
  readonly localUrl?: string;
  /** Whether its documented address has `POST /responses`. */
  readonly responses?: boolean;
  /** The same of `POST /messages`. */
  readonly messages?: boolean;
  /** What its models that generate text are for. */
  readonly kinds: readonly ModelKind[];
  readonly maxN: number;
  /** The operator that the factor set may know. */
  readonly operator: string;
  /** The size that is assumed of a model of which nothing is known, in billions of parameters. */
  readonly otherwiseB: number;
}

const HOSTED = { adapter: 'openai-compatible', kinds: ['chat'], maxN: 1, otherwiseB: 400 } as const;
const LOCAL = {
  adapter: 'openai-compatible',
  kinds: ['chat', 'completion'],
  operator: 'unknown',
  basePath: '/v1',
  otherwiseB: 30,
} as const;

/** The addresses are those of the providers' own documentation. */
export const PROVIDERS: readonly ProviderRow[] = [
  {
    ...HOSTED,
    name: 'openai',
    title: 'OpenAI',
    keyVariable: 'OPENAI_API_KEY',
    baseVariable: 'OPENAI_BASE_URL',
    baseUrl: 'https://api.openai.com/v1',
    basePath: '/v1',
    responses: true,
    maxN: 8,
    operator: 'openai',
  },
  {
    ...HOSTED,
    name: 'anthropic',
    title: 'Anthropic',
    adapter: 'ai-sdk',
    provider: 'anthropic',
    keyVariable: 'ANTHROPIC_API_KEY',
    baseUrl: 'https://api.anthropic.com/v1',
    basePath: '/v1',
    messages: true,
    operator: 'anthropic',
  },
  {
    ...HOSTED,
    name: 'gemini',
    title: 'Google Gemini',
    adapter: 'ai-sdk',
    provider: 'google',
    keyVariable: 'GEMINI_API_KEY',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
    basePath: '/v1beta',
    operator: 'google_genai',
  },
  {
    ...HOSTED,
    name: 'mistral',
    title: 'Mistral AI',
    keyVariable: 'MISTRAL_API_KEY',
    baseUrl: 'https://api.mistral.ai/v1',
    basePath: '/v1',
    operator: 'mistralai',
  },
  {
    ...HOSTED,
    name: 'groq',
    title: 'Groq',
    keyVariable: 'GROQ_API_KEY',
    baseUrl: 'https://api.groq.com/openai/v1',
    basePath: '/openai/v1',
    operator: 'groq',
  },
  {
    ...HOSTED,
    name: 'deepseek',
    title: 'DeepSeek',
    keyVariable: 'DEEPSEEK_API_KEY',
    baseUrl: 'https://api.deepseek.com/v1',
    basePath: '/v1',
    operator: 'deepseek',
  },
  {
    ...HOSTED,
    name: 'openrouter',
    title: 'OpenRouter',
    keyVariable: 'OPENROUTER_API_KEY',
    baseUrl: 'https://openrouter.ai/api/v1',
    basePath: '/api/v1',
    operator: 'unknown',
  },
  {
    ...HOSTED,
    name: 'azure',
    title: 'Azure OpenAI',
    keyVariable: 'AZURE_API_KEY',
    baseVariable: 'AZURE_API_BASE',
    basePath: '/openai/v1',
    responses: true,
    maxN: 8,
    operator: 'microsoft',
  },
  {
    ...LOCAL,
    name: 'ollama',
    title: 'Ollama',
    baseVariable: 'OLLAMA_BASE_URL',
    localUrl: 'http://127.0.0.1:11434/v1',
    maxN: 1,
  },
  {
    ...LOCAL,
    name: 'vllm',
    title: 'vLLM',
    baseVariable: 'VLLM_BASE_URL',
    localUrl: 'http://127.0.0.1:8000/v1',
    maxN: 8,
  },
];
