import { isObject } from '../json.ts';

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

/** The names in a list of models, as OpenAI and Anthropic (`data`, `id`) or Google (`models`, `name`) write it; null in others. */
export function modelsIn(text: string): string[] | null {
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
    return typeof name === 'string' ? [name.replace(/^models\//, '')] : [];
  });
}
