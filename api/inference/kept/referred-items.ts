import { type Fault, invalidParam } from '#shared/kernel/errors.ts';
import { responseOfItem } from '#shared/kernel/answer-ids.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { elements, memberText, setMember } from '#shared/kernel/json-text.ts';
import { keptIn } from '#shared/lanes/kept-response.ts';
import { type Reference, referencesIn } from '#api/openai/references.ts';
import { itemsIn, madeIdOf, mayBeInput } from './conversation.ts';
import type { Before } from './kept-responses.ts';

/** As many as a conversation has turns at most: each may be of a response of its own, which is read for it. */
const REFERENCES_MAX = 1_000;

/** The ids that references name. @throws Fault `invalid_input` for too many, and for one that is named twice */
export function idsOf(references: readonly Reference[]): string[] {
  if (references.length > REFERENCES_MAX)
    throw invalidParam('input', `\`input\` may refer to ${REFERENCES_MAX} items at most.`);
  const ids = new Set<string>();
  for (const { at, id } of references) {
    // A short request would otherwise become one of any length.
    if (ids.has(id))
      throw invalidParam('input', 'This item is referred to twice.', `input[${at}].id`);
    ids.add(id);
  }
  return [...ids];
}

/** What is said of a reference that leads to nothing, whether it never was, was deleted, or is another organisation's. */
export function unknownItem(place: string): Fault {
  return invalidParam(
    'input',
    'No item of this id is kept: it never was, was deleted, or was not used for 24 hours. Send the item itself.',
    place,
  );
}

/** An input that refers to nothing that is kept here. */
export interface OwnInput {
  /** The body that has it. */
  text: string;
  /** Of each of its items the place in the request. */
  places: string[];
}

/**
 * The body with items in place of the references to them. An item that the conversation has already is not repeated, and one
 * that can be no input is left out, as it is of the conversation. What only a server may know stays.
 * @throws Fault `invalid_input` for a reference that leads to nothing
 */
export function withItems(text: string, input: unknown, before: Before): OwnInput {
  if (!Array.isArray(input)) return { text, places: ['input'] };
  const names = new Map(referencesIn(input).map(({ at, id }) => [at, id]));
  const callId = (at: number): string => `input[${at}].call_id`;
  if (names.size === 0) return { text, places: input.map((_, at) => callId(at)) };
  const said = itemsOf(before.turns);
  const referred = itemsOf(before.referred);
  const itemOf = (id: string): JsonObject | null | undefined =>
    said.has(id) ? null : referred.get(id);
  const own = memberText(text, 'input')!;
  const texts: string[] = [];
  const places: string[] = [];
  for (const [at, { start, end }] of elements(own).entries()) {
    const name = names.get(at);
    const place = name === undefined ? callId(at) : `input[${at}].id`;
    const item = name === undefined ? undefined : itemOf(name);
    if (item === null) continue;
    if (name !== undefined && item === undefined && responseOfItem(name) !== undefined)
      throw unknownItem(place);
    texts.push(item === undefined ? own.slice(start, end) : JSON.stringify(item));
    places.push(place);
  }
  return { text: setMember(text, 'input', `[${texts.join(',')}]`), places };
}

/** Items by their ids; null for those that can be no input. An id that two have is that of the first. */
function itemsOf(kept: readonly string[]): Map<string, JsonObject | null> {
  const found = new Map<string, JsonObject | null>();
  const add = (item: JsonObject, names: readonly unknown[], isInput: boolean): void => {
    for (const name of names)
      if (typeof name === 'string' && !found.has(name)) found.set(name, isInput ? item : null);
  };
  for (const one of kept) {
    const { input, response } = keptIn(one);
    const { id, output } = JSON.parse(response) as { id: string; output?: unknown };
    for (const [at, item] of (JSON.parse(`[${itemsIn(input)}]`) as JsonObject[]).entries())
      // One that a server knows is none that is kept.
      if (referencesIn([item]).length === 0)
        add(item, [madeIdOf(item, id, `in_${at}`), item['id']], true);
    for (const [at, item] of listOf(output).filter(isObject).entries())
      add(item, [madeIdOf(item, id, String(at)), item['id']], mayBeInput(item));
  }
  return found;
}
