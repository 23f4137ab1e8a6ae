import type { JsonObject } from '#shared/kernel/json-object.ts';
import { isDisguised } from '#shared/kernel/characters.ts';
import { FOREIGN_ID } from '#shared/receipts/fields.ts';

/** Ids and names of servers are shorter; a longer one is left off the receipt rather than cut. */
const NAME_MAX = 256;

const ANSWER_ID = new RegExp(FOREIGN_ID.pattern);

/** The `id` that an upstream gives an answer or chunk, where a receipt can have it. */
export function answerIdIn(answer: JsonObject | undefined): string | undefined {
  const id = name(answer?.['id']);
  return id !== undefined && ANSWER_ID.test(id) ? id : undefined;
}

/** The model as an answer or chunk names it. */
export function modelNamedIn(answer: JsonObject | undefined): string | undefined {
  return name(answer?.['model']);
}

function name(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '' || value.length > NAME_MAX) return undefined;
  // What does not show as it is has no place in what is signed.
  return isDisguised(value) ? undefined : value;
}
