import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';

/** Members without a word for a model: names of the interface, and what the server that wrote it can read alone. */
const WORDLESS: ReadonlySet<string> = new Set([
  'cache_control',
  'encrypted_content',
  'encrypted_index',
  'encrypted_stdout',
  'id',
  'media_type',
  'signature',
  'status',
  'type',
]);

/**
 * The texts of an item or a block that chats have no words for. By these it is counted; what is screened of it is all of it.
 */
export function wordsOf(value: unknown): string[] {
  const words: string[] = [];
  addWords(value, words);
  return words;
}

function addWords(value: unknown, words: string[]): void {
  if (typeof value === 'string') {
    if (value !== '') words.push(value);
  } else if (Array.isArray(value)) for (const one of listOf(value)) addWords(one, words);
  else if (isObject(value))
    for (const name in value) if (!isWordless(name, value)) addWords(value[name], words);
}

function isWordless(name: string, { type }: JsonObject): boolean {
  return WORDLESS.has(name) || (name === 'data' && type === 'base64');
}
