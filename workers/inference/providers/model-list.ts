import type { ModelKind } from '#shared/catalogue/catalogue.ts';
import { isObject } from '#shared/kernel/json-object.ts';
import type { ListedModel } from './provider.ts';

/** Enough for thousands of models with their descriptions; what is longer is no list. */
const LIST_BYTES_MAX = 8 * 1024 * 1024;

/** A body as text; empty when it is too long for a list. */
export async function readList(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > LIST_BYTES_MAX) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The models in a list, as OpenAI and Anthropic (`data`, `id`) or Google (`models`, `name`) write it; null in others. */
export function modelsIn(text: string): ListedModel[] | null {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(body)) return null;
  const items = body['data'] ?? body['models'];
  if (!Array.isArray(items)) return null;
  return items.flatMap((one: unknown) => {
    const name = isObject(one) ? (one['id'] ?? one['name']) : undefined;
    if (!isObject(one) || typeof name !== 'string') return [];
    const contextWindow = windowOf(one);
    const kinds = kindsOf(one);
    return [
      {
        id: name.replace(/^models\//, ''),
        ...(contextWindow === undefined ? {} : { contextWindow }),
        ...(kinds === undefined ? {} : { kinds }),
      },
    ];
  });
}

/** How lists call the context window: OpenRouter, Mistral, Groq, vLLM, Google, Anthropic. */
const WINDOWS = [
  'context_length',
  'max_context_length',
  'context_window',
  'max_model_len',
  'inputTokenLimit',
  'max_input_tokens',
];

function windowOf(item: Record<string, unknown>): number | undefined {
  return WINDOWS.map((name) => item[name]).find(
    (tokens): tokens is number => Number.isSafeInteger(tokens) && Number(tokens) > 0,
  );
}

/** What a model is for, where its list says so: Google by methods, Mistral and Azure by capabilities, OpenRouter by what comes out. */
function kindsOf(item: Record<string, unknown>): ModelKind[] | undefined {
  const methods = item['supportedGenerationMethods'];
  if (Array.isArray(methods)) {
    if (methods.includes('generateContent')) return ['chat'];
    return methods.includes('embedContent') ? ['embedding'] : [];
  }
  const { capabilities, architecture } = item;
  if (isObject(capabilities)) {
    if (capabilities['completion_chat'] === true || capabilities['chat_completion'] === true)
      return ['chat'];
    if (capabilities['embeddings'] === true) return ['embedding'];
  }
  const output = isObject(architecture) ? architecture['output_modalities'] : undefined;
  if (Array.isArray(output)) {
    if (output.includes('text')) return ['chat'];
    return output.includes('embeddings') ? ['embedding'] : [];
  }
  return undefined;
}
