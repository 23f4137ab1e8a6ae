import type { OnlyNative } from '#api/inference/only-native.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { likenessOf } from './letter-case.ts';
import { HOSTED_ITEMS, ITEMS, PARTS } from './responses.ts';

/** Members of a request that change what is made of it, and that a chat cannot be told. */
const MEMBERS: ReadonlyMap<string, string> = new Map(
  ['context_management', 'moderation'].map((name) => [likenessOf(name), name]),
);
/** What may be asked for beside an answer; at servers of chats all but log probabilities comes to nothing. */
const INCLUDABLE: ReadonlySet<unknown> = new Set([
  'reasoning.encrypted_content',
  'message.output_text.logprobs',
  'message.input_image.image_url',
  'code_interpreter_call.outputs',
  'computer_call_output.output.image_url',
  'file_search_call.results',
  'web_search_call.action.sources',
  'web_search_call.results',
]);
/** Members of parts that name a file which a server keeps or fetches. */
const FILES: readonly string[] = ['file_id', 'file_url'];

/** The first thing in a validated request for a response that goes to servers of responses alone. */
export function onlyInResponses(body: JsonObject): OnlyNative | undefined {
  for (const [at, item] of listOf(body['input']).entries()) {
    const found = isObject(item) ? inItem(item, `input[${at}]`) : undefined;
    if (found !== undefined) return { field: 'input', ...found };
  }
  for (const spelt in body) {
    const field = MEMBERS.get(likenessOf(spelt));
    if (field !== undefined && body[spelt] != null)
      return { field, place: field, what: 'a member' };
  }
  if (body['truncation'] === 'auto')
    return { field: 'truncation', place: 'truncation', what: '`auto`' };
  const at = listOf(body['include']).findIndex((name) => !INCLUDABLE.has(name));
  if (at === -1) return undefined;
  return { field: 'include', place: `include[${at}]`, what: 'the name of something' };
}

function inItem(item: JsonObject, place: string): Omit<OnlyNative, 'field'> | undefined {
  const { type } = item;
  const isHosted = HOSTED_ITEMS.has(String(type));
  if (typeof type === 'string' && !isHosted && !Object.hasOwn(ITEMS, type))
    return { place, what: `an item of the type \`${type}\`` };
  for (const member of ['content', 'output']) {
    // Some tools of servers have one part where others have a list.
    for (const [at, part] of [item[member]].flat().entries()) {
      const what = isObject(part) ? whatOnlyIn(part, isHosted) : undefined;
      if (what !== undefined) return { place: `${place}.${member}[${at}]`, what };
    }
  }
  return undefined;
}

function whatOnlyIn(part: JsonObject, isHosted: boolean): string | undefined {
  const name = FILES.find((one) => part[one] != null);
  if (name !== undefined) return `a part with a \`${name}\``;
  const { type } = part;
  // What tools of servers put out has parts of its own, and chats are without all of it; reasoning has one kind.
  if (isHosted || typeof type !== 'string' || PARTS.has(type) || type === 'reasoning_text')
    return undefined;
  return `a part of the type \`${type}\``;
}
