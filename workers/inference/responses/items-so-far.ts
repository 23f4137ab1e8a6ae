import { isObject, type JsonObject, listOf, numberOf, textOf } from '#shared/kernel/json-object.ts';
import { GrowingText } from '../growing-text.ts';
import { reasoningPart, refusalPart, summaryPart, textPart } from './output.ts';

/** A text of an item that is being made, and the list or the member that it stands in. */
interface Growing {
  member: string;
  type: string;
  /** Absent of what is no part of a list. */
  index: number | undefined;
  text: GrowingText;
}

interface Making {
  item: JsonObject;
  /** By their member and their index: an item may have very many. */
  texts: Map<string, Growing>;
}

/** Where the text of an event that brings a piece of one belongs. */
const PLACES: Readonly<Record<string, readonly [member: string, index?: string]>> = {
  'response.output_text.delta': ['content', 'content_index'],
  'response.refusal.delta': ['content', 'content_index'],
  'response.reasoning_text.delta': ['content', 'content_index'],
  'response.reasoning_summary_text.delta': ['summary', 'summary_index'],
  'response.function_call_arguments.delta': ['arguments'],
  'response.custom_tool_call_input.delta': ['input'],
};

const PARTS: Readonly<Record<string, (text: string) => JsonObject>> = {
  'response.output_text.delta': (text) => textPart(text, []),
  'response.refusal.delta': refusalPart,
  'response.reasoning_text.delta': reasoningPart,
  'response.reasoning_summary_text.delta': summaryPart,
};

/** What the events of a response have brought of its output, should no event come that has all of it. */
export class ItemsSoFar {
  readonly #done = new Map<number, JsonObject>();
  readonly #making = new Map<number, Making>();
  #kept = 0;

  /** Characters that are in memory. */
  get kept(): number {
    return this.#kept;
  }

  accept(given: string, event: JsonObject): void {
    const { type, item, delta } = event;
    const at = numberOf(event['output_index']);
    if (at === undefined) return;
    if (type === 'response.output_item.added' && isObject(item)) {
      this.#making.set(at, { item, texts: new Map() });
      this.#kept += given.length;
    } else if (type === 'response.output_item.done' && isObject(item)) {
      this.#making.delete(at);
      this.#done.set(at, item);
      this.#kept += given.length;
    } else if (typeof delta === 'string') this.#grow(String(type), at, event);
  }

  /** The items in their order; one that was being made has what came of it, and says that it is incomplete. */
  output(): JsonObject[] {
    const made = [...this.#making].map(([at, making]) => [at, incomplete(making)] as const);
    return [...this.#done, ...made].toSorted(([a], [b]) => a - b).map(([, item]) => item);
  }

  #grow(type: string, at: number, event: JsonObject): void {
    const place = Object.hasOwn(PLACES, type) ? PLACES[type] : undefined;
    const making = this.#making.get(at);
    if (place === undefined || making === undefined) return;
    const [member, named] = place;
    const index = named === undefined ? undefined : (numberOf(event[named]) ?? 0);
    const name = `${member} ${index}`;
    let growing = making.texts.get(name);
    if (growing === undefined) {
      growing = { member, type, index, text: new GrowingText() };
      making.texts.set(name, growing);
    }
    const delta = textOf(event['delta']) ?? '';
    growing.text.add(delta);
    this.#kept += delta.length;
  }
}

function incomplete({ item, texts }: Making): JsonObject {
  const told: JsonObject = { ...item, status: 'incomplete' };
  const lists = new Map<string, unknown[]>();
  for (const { member, type, index, text } of texts.values()) {
    const part = PARTS[type]?.(String(text));
    if (part === undefined || index === undefined) told[member] = String(text);
    else {
      const list = lists.get(member) ?? [...listOf(told[member])];
      list.push(part);
      lists.set(member, list);
    }
  }
  return { ...told, ...Object.fromEntries(lists) };
}
