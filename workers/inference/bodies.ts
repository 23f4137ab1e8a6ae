import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { CALLER_NAMES, chatOfWritten } from '#shared/dialects/chat-of-message.ts';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import { type Dialect, dialectOf, type Route } from '#shared/kernel/inference.ts';
import {
  dropMembers,
  members,
  memberText,
  setMember,
  skipSpace,
} from '#shared/kernel/json-text.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { LONG, nextTurn } from '#shared/kernel/turns.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';

/** A body in the interface in which an endpoint gets it. */
export interface Asked {
  route: Dialect;
  body: string;
}

/**
 * What an endpoint is asked: a chat in place of a response, where it speaks no responses; and without what a model thought,
 * where this service has made that of a message, unless the endpoint takes it.
 */
export function asked(
  route: Route,
  body: string,
  { responses, reasoningContent }: Pick<Endpoint, 'responses' | 'reasoningContent'>,
): Asked {
  if (route === 'messages') {
    const chat = body.includes(CALLER_NAMES) ? dropMembers(body, [CALLER_NAMES]) : body;
    return {
      route: dialectOf(route),
      body: reasoningContent === true ? chat : withoutThoughts(chat),
    };
  }
  if (route !== 'responses' || responses === true) return { route: dialectOf(route), body };
  const parsed: unknown = JSON.parse(body);
  const chat = chatRequestOf(isObject(parsed) ? parsed : {}, reasoningContent);
  return { route: 'chat.completions', body: JSON.stringify(chat) };
}

function withoutThoughts(body: string): string {
  if (!body.includes('"reasoning_content"')) return body;
  const chat = JSON.parse(body) as JsonObject & { messages: JsonObject[] };
  const messages = chat.messages.map(({ reasoning_content: _thoughts, ...message }) => message);
  return setMember(body, 'messages', JSON.stringify(messages));
}

/** A body in the dialect in which it was screened and is counted: of a request for a message the chat that it is. */
export function screenedBody(
  { asMessage }: Pick<InferenceEntry, 'asMessage'>,
  body: string,
): string {
  return asMessage ? JSON.stringify(chatOfWritten(JSON.parse(body) as JsonObject, body)) : body;
}

/** Whether an endpoint gets a request for a message as it came. */
export function getsMessage(
  { asMessage }: Pick<InferenceEntry, 'asMessage'>,
  { messages }: Pick<Endpoint, 'messages'>,
): boolean {
  return asMessage === true && messages === true;
}

/**
 * The body as one upstream is to get it: its own name for the model, `system` where it does not know `developer`, null where
 * an assistant's content is an empty list, and, in a stream, usage asked for. Everything else keeps its bytes.
 */
export function upstreamBody(
  body: string,
  route: Route,
  { endpoint, model }: { endpoint: Pick<Endpoint, 'developerRole'>; model: string },
  stream: boolean,
): string {
  const own = setMember(body, 'model', JSON.stringify(model));
  const isRenamed = route === 'chat.completions' && endpoint.developerRole === false;
  const isEmptied = route === 'chat.completions' && EMPTY_CONTENT.test(own);
  const named = isRenamed || isEmptied ? withMessagesTold(own, isRenamed) : own;
  // Its answer would be kept there: this service does not ask for that, and has put the conversation into the input.
  if (route === 'responses')
    return dropMembers(setMember(named, 'store', 'false'), ['previous_response_id']);
  if (!stream || route === 'embeddings' || route === 'messages') return named;
  return setMember(named, 'stream_options', streamOptions(memberText(named, 'stream_options')));
}

/** Some clients send it beside calls, and most servers refuse it. */
const EMPTY_CONTENT = /"content"\s*:\s*\[\s*\]/;

/**
 * OpenAI calls `developer` what it called `system`; the templates of many open models know the older name alone.
 * @param isRenamed whether the server is one of these
 */
function withMessagesTold(body: string, isRenamed: boolean): string {
  const messages = memberText(body, 'messages')!;
  let edited = '';
  let copied = 0;
  let at = skipSpace(messages, 1);
  while (messages[at] === '{') {
    const all = members(messages, at);
    for (const { key, valueStart, valueEnd } of all) {
      const told = toldAs(key, messages.slice(valueStart, valueEnd), isRenamed);
      if (told === undefined) continue;
      edited += messages.slice(copied, valueStart) + told;
      copied = valueEnd;
    }
    const closing = skipSpace(messages, all.at(-1)!.end);
    // Past the comma after it, or past the end of the list.
    at = skipSpace(messages, skipSpace(messages, closing + 1) + 1);
  }
  return copied === 0 ? body : setMember(body, 'messages', edited + messages.slice(copied));
}

/** A member of a message as it is told to a server in other words; undefined where it stays. */
function toldAs(key: string, value: string, isRenamed: boolean): string | undefined {
  if (key === 'content') return value[0] === '[' && /^\[\s*\]$/.test(value) ? 'null' : undefined;
  const isDeveloper = key === 'role' && isRenamed && JSON.parse(value) === 'developer';
  return isDeveloper ? '"system"' : undefined;
}

function streamOptions(text: string | undefined): string {
  if (text === undefined || !text.startsWith('{')) return '{"include_usage":true}';
  return setMember(text, 'include_usage', 'true');
}

/**
 * The embeddings answer in the encoding that the client asked for, also when the upstream used the other one: a client that asked for
 * base64 and gets numbers would read a vector of a quarter of the length, silently. An answer that is right already
 * keeps its bytes.
 */
export async function withEncodingAsked(
  text: string,
  parsed: JsonObject,
  body: string,
): Promise<string> {
  const isOfNumbers = memberText(body, 'encoding_format') !== '"base64"';
  const isOther = (item: unknown): item is JsonObject =>
    isObject(item) && hasOtherEncoding(item, isOfNumbers);
  const { data } = parsed;
  if (!Array.isArray(data) || !data.some(isOther)) return text;
  const items: string[] = [];
  let chars = 0;
  for (const item of data) {
    items.push(JSON.stringify(isOther(item) ? inOtherEncoding(item) : item));
    chars += items.at(-1)!.length;
    if (chars < LONG) continue;
    await nextTurn();
    chars = 0;
  }
  return setMember(JSON.stringify({ ...parsed, data: [] }), 'data', `[${items.join(',')}]`);
}

function hasOtherEncoding({ embedding }: JsonObject, isOfNumbers: boolean): boolean {
  return isOfNumbers ? typeof embedding === 'string' : Array.isArray(embedding);
}

function inOtherEncoding(item: JsonObject): JsonObject {
  const { embedding } = item;
  return {
    ...item,
    embedding:
      typeof embedding === 'string' ? fromBase64(embedding) : toBase64(embedding as number[]),
  };
}

/** Little-endian float32, as the SDKs decode it. */
function toBase64(values: number[]): string {
  const bytes = Buffer.allocUnsafe(values.length * 4);
  for (let i = 0; i < values.length; i += 1) bytes.writeFloatLE(values[i]!, i * 4);
  return bytes.toString('base64');
}

function fromBase64(text: string): number[] {
  const bytes = Buffer.from(text, 'base64');
  const values: number[] = [];
  for (let i = 0; i + 4 <= bytes.length; i += 4) values.push(bytes.readFloatLE(i));
  return values;
}
