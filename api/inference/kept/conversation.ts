import { OUR_REASONING } from '#shared/kernel/answer-ids.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { memberText, setMember } from '#shared/kernel/json-text.ts';
import { keptIn } from '#shared/lanes/kept-response.ts';
import { ITEMS } from '#api/openai/responses.ts';
import { listOf as listOfPage } from '#api/routes/lists.ts';

/**
 * The body of a request with the conversation before its own input that it goes on from, so that all who read the body read
 * both. Texts of the conversation keep their bytes; what was answered stands as input items.
 */
export function withConversation(body: string, turns: readonly string[]): string {
  const before = turns.flatMap((turn) => {
    const { input, response } = keptIn(turn);
    return [itemsIn(input), answeredIn(response)];
  });
  const items = [...before, itemsIn(memberText(body, 'input')!)].filter((text) => text !== '');
  return setMember(body, 'input', `[${items.join(',')}]`);
}

/** An input as items, without the brackets around them. */
export function itemsIn(input: string): string {
  return input.startsWith('"') ? `{"role":"user","content":${input}}` : input.slice(1, -1).trim();
}

function answeredIn(response: string): string {
  const output = JSON.parse(memberText(response, 'output') ?? '[]') as unknown;
  return outputOf(output)
    .map((item) => JSON.stringify(item))
    .join(',');
}

function outputOf(output: unknown): JsonObject[] {
  return listOf(output).filter(isObject).filter(mayBeInput);
}

/** Whether an item of an output may be an input again. Reasoning that says nothing is a name of something kept elsewhere. */
export function mayBeInput(item: JsonObject): boolean {
  const { type, id, encrypted_content: sealed, content, summary } = item;
  return type === 'reasoning'
    ? typeof sealed === 'string' ||
        listOf(content).length > 0 ||
        (OUR_REASONING.test(String(id)) && listOf(summary).length > 0)
    : Object.hasOwn(ITEMS, String(type));
}

/** An item of a list: everything there has an id of its own, by which the list goes on. */
type ListedItem = JsonObject & { id: string };

/** Which part of a list is wanted. */
export interface ItemsPage {
  /** The id of the item before it. */
  after?: string | undefined;
  limit: number;
  order: 'asc' | 'desc';
}

/**
 * A page of every item that a response was made of, the conversation before it and its own input, as the JSON that a caller
 * gets. It parses all of them, however many the page has: of more than a small body that is for a thread.
 */
export function inputItems(turns: readonly string[], { after, limit, order }: ItemsPage): string {
  const oldestFirst = itemsOf(turns);
  const items = order === 'asc' ? oldestFirst : oldestFirst.toReversed();
  // An id that is not there is the end of the list, as with every other cursor.
  const at = after === undefined ? 0 : items.findIndex(({ id }) => id === after) + 1;
  const page = after !== undefined && at === 0 ? [] : items.slice(at, at + limit);
  const hasMore = page.length > 0 && at + limit < items.length;
  return JSON.stringify(listOfPage({ items: page, hasMore }));
}

/** The oldest first. */
function itemsOf(turns: readonly string[]): ListedItem[] {
  const items: ListedItem[] = [];
  const seen = new Set<unknown>();
  const add = (item: JsonObject, made: string): void => {
    const one = listed(item, made, seen);
    seen.add(one.id);
    items.push(one);
  };
  for (const [at, turn] of turns.entries()) {
    const { input, response } = keptIn(turn);
    const { id, output } = JSON.parse(response) as { id: string; output?: unknown };
    const own = JSON.parse(`[${itemsIn(input)}]`) as JsonObject[];
    for (const [index, item] of own.entries()) add(item, madeIdOf(item, id, `in_${index}`));
    if (at === turns.length - 1) break;
    for (const [index, item] of listOf(output).entries())
      if (isObject(item) && mayBeInput(item)) add(item, madeIdOf(item, id, String(index)));
  }
  return items;
}

const ID_PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg_',
  function_call: 'fc_',
  function_call_output: 'fco_',
  custom_tool_call: 'ctc_',
  custom_tool_call_output: 'ctco_',
  reasoning: 'rs_',
};

/** The id of an item that has none of its own: its response is found by it. */
export function madeIdOf(
  { type = 'message' }: JsonObject,
  response: string,
  place: string,
): string {
  return `${ID_PREFIXES[String(type)] ?? 'item_'}${response.replace(/^resp_/, '')}_${place}`;
}

/** An item as OpenAI lists it: with a type, an id, and parts where its content was a text. */
function listed(item: JsonObject, made: string, seen: ReadonlySet<unknown>): ListedItem {
  const { type = 'message', id, role, content, status } = item;
  // The caller gave its items their ids, and may have given one twice.
  const isOwn = typeof id === 'string' && id !== '' && !seen.has(id);
  const whole = { ...item, type, id: isOwn ? id : made };
  if (type !== 'message') return whole;
  const kind = role === 'assistant' ? 'output_text' : 'input_text';
  const parts = typeof content === 'string' ? [{ type: kind, text: content }] : content;
  return { ...whole, status: status ?? 'completed', content: parts };
}
