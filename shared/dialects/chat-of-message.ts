import { CHAT_STOPS_MAX } from '#shared/kernel/inference.ts';
import { mayRound } from '#shared/kernel/exact-json.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { elements, memberText } from '#shared/kernel/json-text.ts';
import {
  addSystem,
  BETWEEN_SYSTEM_TEXTS,
  textOrParts,
  withMediaBehindResults,
} from './chat-parts.ts';
import { type ToolNames, toolNamesOf } from './tool-names.ts';
import { wordsOf } from './words.ts';

/** Fields of Anthropic's interface that say something to a chat server under another name. */
const TRANSLATED = [
  'messages',
  'output_config',
  'output_format',
  'stop_sequences',
  'system',
  'tool_choice',
  'tools',
] as const;
/** Those that only Anthropic's own servers act upon. */
const NOT_PASSED_ON = [
  'billing_policy',
  'betas',
  'cache_control',
  'compaction',
  'container',
  'context_management',
  'diagnostics',
  'fallback_credit_token',
  'fallbacks',
  'inference_geo',
  'mcp_servers',
  'metadata',
  'service_tier',
  'speed',
  'thinking',
  'thread',
  'user_profile_id',
  'workspace_id',
] as const;
/**
 * The member of such a chat that says whose the names are that chat servers would refuse: pairs of a name at the server and
 * the caller's. It is for the writer of the answer, and no part of what a server is sent.
 */
export const CALLER_NAMES = 'docket_tool_names';
/** A member of the name `__proto__` would become what the chat inherits from. */
const OWN: ReadonlySet<string> = new Set([
  ...TRANSLATED,
  ...NOT_PASSED_ON,
  CALLER_NAMES,
  '__proto__',
]);

/** Blocks that chats have words for, wherever a conversation has them, and those by whose lack a chat loses no word. */
export const BLOCKS_SAID = [
  'document',
  'image',
  'redacted_thinking',
  'search_result',
  'text',
  'thinking',
  'tool_reference',
  'tool_result',
  'tool_use',
] as const;
const SAID: ReadonlySet<unknown> = new Set(BLOCKS_SAID);
/** What tools did that a server runs, and which model answered: of an assistant's turn, chats are without it. */
const OF_SERVERS =
  /^(?:container_upload|fallback|mcp_tool_listing|server_tool_use|mcp_tool_use|[a-z_]{1,64}_tool_result)$/;
/** The sources of media and documents that a chat can be given. */
const SOURCES: Readonly<Record<string, ReadonlySet<unknown>>> = {
  document: new Set(['base64', 'content', 'text']),
  image: new Set(['base64', 'url']),
};

/**
 * Whether a chat can say what a block says, apart from the blocks inside it. Others go to servers alone that speak this
 * interface themselves.
 */
export function isBlockSaid(block: JsonObject, isAssistants: boolean): boolean {
  const { type, source } = block;
  if (type === 'compaction' && isAssistants)
    return typeof block['content'] === 'string' || block['encrypted_content'] == null;
  const sources = SOURCES[String(type)];
  if (sources !== undefined) return isObject(source) && sources.has(source['type']);
  return SAID.has(type) || (isAssistants && isOfServers(block));
}

function isOfServers({ type }: JsonObject): boolean {
  return typeof type === 'string' && !SAID.has(type) && OF_SERVERS.test(type);
}

/** The input of a block that calls a tool, as JSON text. */
type InputOf = (block: JsonObject) => string;

const written: InputOf = ({ input }) => JSON.stringify(input);

/**
 * A request for a message of Anthropic's interface as a request for a chat completion, which every upstream speaks. The api
 * has validated it, and sends what chats have no words for to servers of this interface alone: the words of that are in the
 * chat all the same, by which it is counted. Of known blocks and tools only known members are taken over, so that what is
 * screened is what is sent.
 * @param inputOf the input of a call as JSON text; it is written from its value when absent
 */
export function chatOfMessage(body: JsonObject, inputOf: InputOf = written): JsonObject {
  const chat: JsonObject = {};
  for (const name in body) if (!OWN.has(name) && body[name] !== null) chat[name] = body[name];
  const tools = listOf(body['tools']).filter(isObject).filter(isRunByCaller);
  const names = toolNamesOf(tools.map(({ name }) => String(name)));
  chat['messages'] = messagesOf(body, { inputOf, nameOf: names.nameOf });
  const stops = listOf(body['stop_sequences']);
  if (stops.length > 0 && stops.length <= CHAT_STOPS_MAX) chat['stop'] = stops;
  // Asks for a prompt to be cached, and for no answer.
  if (chat['max_tokens'] === 0) delete chat['max_tokens'];
  const config = (body['output_config'] ?? {}) as JsonObject;
  const format = config['format'] ?? body['output_format'];
  if (isObject(format)) chat['response_format'] = responseFormatOf(format);
  if (config['effort'] != null) chat['reasoning_effort'] = effortOf(config['effort']);
  if (tools.length > 0) {
    chat['tools'] = tools.map((tool) => toolOf(tool, names));
    Object.assign(chat, choiceOf(body['tool_choice'], tools, names));
  }
  if (names.changed.size > 0) chat[CALLER_NAMES] = [...names.changed];
  return chat;
}

/**
 * The same of a request as it was written: the inputs of calls go on as texts, and may hold ids of 19 digits, which numbers of
 * JavaScript would round. Only their own text is looked at, where the request has any that may be rounded.
 */
export function chatOfWritten(body: JsonObject, text: string): JsonObject {
  const mayChange = listOf(body['messages']).filter(isObject).some(hasCalls) && mayRound(text);
  return chatOfMessage(body, mayChange ? inputsIn(body, text) : undefined);
}

function inputsIn(body: JsonObject, text: string): InputOf {
  const texts = new Map<JsonObject, string>();
  const all = memberText(text, 'messages')!;
  const places = elements(all);
  for (const [at, turn] of (body['messages'] as JsonObject[]).entries()) {
    if (!hasCalls(turn)) continue;
    const blocks = turn['content'] as JsonObject[];
    const { start, end } = places[at]!;
    const content = memberText(all.slice(start, end), 'content')!;
    for (const [place, span] of elements(content).entries()) {
      const block = blocks[place]!;
      if (!isCall(block)) continue;
      const input = memberText(content.slice(span.start, span.end), 'input')!;
      if (mayRound(input)) texts.set(block, input);
    }
  }
  return (block) => texts.get(block) ?? written(block);
}

const hasCalls = ({ content }: JsonObject): boolean =>
  listOf(content).filter(isObject).some(isCall);

const isCall = ({ type }: JsonObject): boolean => type === 'tool_use';

/** Whether a tool is run by the caller, and not by Anthropic's servers or by rules that only its models know. */
export function isRunByCaller({ type }: JsonObject): boolean {
  return type == null || type === 'custom';
}

/** How calls of earlier turns are written. */
interface Calling {
  inputOf: InputOf;
  nameOf: ToolNames['nameOf'];
}

function messagesOf({ system, messages }: JsonObject, calling: Calling): JsonObject[] {
  const out: JsonObject[] = [];
  if (system != null) addSystemText(system, out);
  for (const message of listOf(messages).filter(isObject)) {
    const { role, content } = message;
    if (role === 'assistant') out.push(assistantOf(content, calling));
    else if (role === 'system') addSystemText(content, out);
    else addUser(content, out);
  }
  return withMediaBehindResults(out);
}

function addSystemText(content: unknown, out: JsonObject[]): void {
  const text =
    typeof content === 'string'
      ? content
      : listOf(content).filter(isObject).flatMap(saidBySystem).join(BETWEEN_SYSTEM_TEXTS);
  if (text !== '') addSystem(text, out);
}

function saidBySystem(block: JsonObject): string[] {
  return block['type'] === 'text' ? textsOf([block]) : wordsOf(block);
}

/** What tools returned stands first: chat servers want it right behind the calls. */
function addUser(content: unknown, out: JsonObject[]): void {
  if (typeof content === 'string') {
    out.push({ role: 'user', content });
    return;
  }
  const blocks = listOf(content).filter(isObject);
  for (const block of blocks) if (block['type'] === 'tool_result') out.push(toolMessageOf(block));
  const said = blocks.filter(({ type }) => type !== 'tool_result');
  if (said.length > 0) out.push({ role: 'user', content: contentOf(said) });
}

function toolMessageOf({ tool_use_id: id, content }: JsonObject): JsonObject {
  return { role: 'tool', tool_call_id: id, content: contentOf(content) };
}

/** What the assistant said is one text, as it was when a chat server said it. */
function assistantOf(content: unknown, calling: Calling): JsonObject {
  if (typeof content === 'string') return { role: 'assistant', content };
  const blocks = listOf(content).filter(isObject);
  const calls = blocks
    .filter(({ type }) => type === 'tool_use')
    .map((block) => callOf(block, calling));
  const text = blocks.flatMap(saidByAssistant).join('');
  const thoughts = blocks.flatMap(({ type, thinking }) => (type === 'thinking' ? [thinking] : []));
  const thought = thoughts.join('');
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...(thought === '' ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function saidByAssistant(block: JsonObject): string[] {
  const { type, content } = block;
  if (type === 'text') return textsOf([block]);
  if (type === 'compaction' && typeof content === 'string') return [content];
  return SAID.has(type) || isOfServers(block) ? [] : wordsOf(block);
}

function callOf(block: JsonObject, { inputOf, nameOf }: Calling): JsonObject {
  const name = nameOf(String(block['name']));
  return { id: block['id'], type: 'function', function: { name, arguments: inputOf(block) } };
}

function contentOf(content: unknown): string | JsonObject[] {
  if (typeof content === 'string') return content;
  return textOrParts(listOf(content).filter(isObject).flatMap(partsOf));
}

function partsOf(block: JsonObject): JsonObject[] {
  const { type, text, title, context, content } = block;
  const source = isObject(block['source']) ? block['source'] : {};
  switch (type) {
    case 'image':
      return isAtServer(source)
        ? [keptPart(source)]
        : [{ type: 'image_url', image_url: { url: urlOf(source) } }];
    case 'document':
      return [...textParts(title, context), ...documentParts(source, title)];
    case 'search_result':
      return textParts(title, block['source'], ...textsOf(content));
    case 'text':
      return [{ type: 'text', text }];
    case 'tool_reference':
      return textParts(block['tool_name']);
    default:
      return textParts(...wordsOf(block));
  }
}

function documentParts(source: JsonObject, title: unknown): JsonObject[] {
  const { type, data, content } = source;
  if (type === 'text') return textParts(data);
  if (type === 'content')
    return typeof content === 'string'
      ? textParts(content)
      : listOf(content).filter(isObject).flatMap(partsOf);
  if (isAtServer(source)) return [keptPart(source)];
  const filename = typeof title === 'string' && title !== '' ? title : undefined;
  return [{ type: 'file', file: { file_data: urlOf(source), ...(filename && { filename }) } }];
}

function textParts(...texts: readonly unknown[]): JsonObject[] {
  return texts.flatMap((text) =>
    typeof text === 'string' && text !== '' ? [{ type: 'text', text }] : [],
  );
}

/** Whether a medium is neither in a request nor at an address. */
function isAtServer({ type }: JsonObject): boolean {
  return type !== 'base64' && type !== 'url';
}

/** What its server keeps: such a chat is counted, and not sent. */
function keptPart({ type, file_id: file }: JsonObject): JsonObject {
  return { type: 'file', file: { file_id: typeof file === 'string' && file !== '' ? file : type } };
}

function urlOf({ type, url, media_type: mediaType, data }: JsonObject): unknown {
  return type === 'url' ? url : `data:${String(mediaType)};base64,${String(data)}`;
}

function textsOf(blocks: unknown): string[] {
  return listOf(blocks)
    .filter(isObject)
    .flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
}

function toolOf(
  { name, description, input_schema: parameters, strict }: JsonObject,
  { nameOf }: ToolNames,
): JsonObject {
  return {
    type: 'function',
    function: {
      name: nameOf(String(name)),
      ...(description == null ? {} : { description }),
      parameters,
      ...(strict == null ? {} : { strict }),
    },
  };
}

/** How a chat is told which tools to call. A choice of a tool that was left out is none. */
function choiceOf(
  choice: unknown,
  tools: readonly JsonObject[],
  { nameOf }: ToolNames,
): JsonObject {
  if (!isObject(choice)) return {};
  const { type, name, disable_parallel_tool_use: isAlone } = choice;
  const one = isAlone === true ? { parallel_tool_calls: false } : {};
  if (type === 'any') return { tool_choice: 'required', ...one };
  if (type === 'auto' || type === 'none') return { tool_choice: type, ...one };
  // Another is for servers of this interface alone.
  if (type !== 'tool') return {};
  if (!tools.some((tool) => tool['name'] === name)) return one;
  const known = nameOf(String(name));
  return { tool_choice: { type: 'function', function: { name: known } }, ...one };
}

/** Chat servers want a name for the schema, which Anthropic's interface does not have. */
const SCHEMA_NAME = 'answer';

function responseFormatOf({ schema }: JsonObject): JsonObject {
  return { type: 'json_schema', json_schema: { name: SCHEMA_NAME, schema, strict: true } };
}

/** Servers of open models know none of these. */
const ABOVE_HIGH: ReadonlySet<unknown> = new Set(['xhigh', 'max']);

function effortOf(effort: unknown): unknown {
  return ABOVE_HIGH.has(effort) ? 'high' : effort;
}
