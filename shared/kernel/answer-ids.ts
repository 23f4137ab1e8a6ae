import { type Id, isId } from './ids.ts';
import type { Route } from './inference.ts';

/** How the ids of answers begin, in the dialect of each route. OpenAI's embeddings have none. */
const PREFIXES: Readonly<Partial<Record<Route, string>>> = {
  'chat.completions': 'chatcmpl-',
  completions: 'cmpl-',
  responses: 'resp_',
  messages: 'msg_',
};

/**
 * The `id` of the answer to a request, with the ULID of that request: so it leads to the receipt of this answer and of no
 * other. Ids of upstreams do not; some draw theirs from a few hundred.
 */
export function answerIdOf(route: Route, requestId: string): string | undefined {
  const prefix = PREFIXES[route];
  return prefix === undefined ? undefined : prefix + requestId.slice(requestId.indexOf('_') + 1);
}

/**
 * The id of the receipt that a caller means: by itself, by its address, by the id of its request, or by that of its answer;
 * undefined when the name is none of these.
 */
export function receiptIdNamed(name: string): Id<'rcpt'> | undefined {
  const last = name.slice(name.lastIndexOf('/') + 1);
  const prefix = ['rcpt_', 'req_', ...Object.values(PREFIXES)].find((one) => last.startsWith(one));
  if (prefix === undefined) return undefined;
  const receiptId = `rcpt_${last.slice(prefix.length)}`;
  return isId('rcpt', receiptId) ? receiptId : undefined;
}

/** The id of the request that a caller means, by any of these; the name itself where it is none of them. */
export function requestIdNamed(name: string): string {
  return receiptIdNamed(name)?.replace('rcpt_', 'req_') ?? name;
}

/** Reasoning that was written here: a server would look it up by its id, and does not keep it. */
export const OUR_REASONING = /^rs_[0-9A-HJKMNP-TV-Z]{26}_\d+$/;

/** The ids of items that are made here: of an output `msg_<ULID>_0`, of an input `msg_<ULID>_in_0`. */
const ITEM_ID = /^[a-z]+_([0-9A-HJKMNP-TV-Z]{26})_(?:in_)?\d{1,6}$/;

/** The id of the response that an item is of, where the id of the item was made here. */
export function responseOfItem(itemId: string): string | undefined {
  const ulid = ITEM_ID.exec(itemId)?.[1];
  return ulid === undefined ? undefined : answerIdOf('responses', `req_${ulid}`);
}
