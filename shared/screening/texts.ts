import { chatRequestOf, isSaidInChats } from '#shared/dialects/chat-of-response.ts';
import { wordsOf } from '#shared/dialects/words.ts';
import { isFitting } from '#shared/dialects/tool-names.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf, textOf } from '#shared/kernel/json-object.ts';
import { namesText, textsOfData, textsOfStrayData, wordsBesideData } from './data-texts.ts';

/** Turns token ids back into text, where the model's tokenizer is known. */
export type DecodeTokens = (tokens: readonly number[], charsMax?: number) => string;

/** So many texts and names as 128 tools with five hundred each have. What has more is no description of anything. */
export const BESIDE_TEXTS_MAX = 65_536;

/**
 * Characters that are screened of one request, in all ways in which servers put it together: some seconds of a thread. They are
 * three times the largest body, so that no conversation that a model could hold comes near; one that is made for it, of many
 * parts, files, refusals and thoughts, would keep a thread from others for half a minute. No more of such ways are put together
 * than are needed to see that there are too many.
 */
export const SCREENED_CHARS_MAX = 64 * 1024 * 1024;

/** A sentence that begins in a name goes on behind it in so many characters at most. */
const BEHIND_NAME_CHARS = 512;

/** The texts of a request, as references into its body where they stand there as they are. */
export interface Texts {
  /**
   * What a model would read, part by part: messages of every role with their text parts, refusals and tool-call
   * arguments, descriptions of tools, predicted output; instructions and every input item of a request for a response;
   * prompts with their suffix; embedding inputs.
   */
  prompt: string[];
  /**
   * The same in every other way in which an upstream may put it together, one behind the other, where that reads
   * otherwise: the parts of a message without anything between them, or nothing but media; messages of one role in a row, likewise;
   * without files that are texts, which are media to some; arguments without their escapes; and without refusals or reasoning, which
   * some servers leave out. And names with what servers write behind them: of tools, calls, messages and results of a search.
   */
  joined: string[];
  /**
   * Everything else that may reach a model: names, the JSON Schemas of tools and of `response_format` with the names of
   * their members, every field that passes through unread, and known members in shapes that they do not have.
   */
  beside: string[];
  /** The field that has more of these than are read. */
  tooMany?: string;
  /** The field with data of a file of which servers may read something else. */
  unlike?: string;
}

/**
 * The texts of a parsed request body in the shape of an OpenAI interface, or of Anthropic's. Only media, token biases and what only the
 * gateway or a log reads are passed over. Token arrays are read through `decode`, and skipped without it. The body is
 * untrusted, and nested as deep as the parser lets it: a value of another shape than its member has is read like a field
 * that passes through.
 */
export function textsOf(route: Route, body: unknown, decode?: DecodeTokens): Texts {
  return readingOf(route, body, decode).texts();
}

/**
 * What a model would read without texts in files, which are media to most servers, whose tokens no text tells, and without what
 * was thought: a model does not read it again, or its upstream has its own count.
 */
export function countedTextsOf(route: Route, body: unknown): string[] {
  return readingOf(route, body).counted();
}

function readingOf(route: Route, body: unknown, decode?: DecodeTokens): Reading {
  const reading = new Reading();
  if (isObject(body)) READERS[route](body, reading, decode);
  return reading;
}

/**
 * The texts of a request for a response as a server of chat completions is sent them, where that has them in another order
 * or in other words: what an assistant refused stands behind all that it said in a message, what it thought in a row is one
 * text, what is left out stands between nothing, what tools returned stands behind their calls, with images behind that,
 * names of a namespace begin with its own, and those that chat servers refuse are spelt anew, and the text of a custom tool is an argument.
 * Texts that are joined with a line break between them are read so when they stand apart.
 */
export function translatedTextsOf({ instructions, input, tools }: JsonObject): Texts | undefined {
  const items = listOf(input).filter(isObject);
  const isAnother =
    listOf(tools).filter(isObject).some(isAnotherTool) ||
    items.some(isAnotherItem) ||
    thinksAgain(items) ||
    answersLater(items);
  if (!isAnother) return undefined;
  // With what was thought: it depends on the endpoint whether it is sent.
  const chat = chatRequestOf({ instructions, input, tools }, true);
  return textsOf('chat.completions', { messages: chat['messages'], tools: chat['tools'] });
}

function isAnotherTool({ type, name }: JsonObject): boolean {
  if (type === 'namespace' || type === 'custom') return true;
  return type === 'function' && isRenamed(name);
}

function isAnotherItem(item: JsonObject): boolean {
  const { type, name, namespace, content, output } = item;
  return (
    !isSaidInChats(item) ||
    namespace != null ||
    type === 'custom_tool_call' ||
    (type === 'function_call' && isRenamed(name)) ||
    listOf(content).some(isRefusal) ||
    listOf(output).some((part) => isObject(part) && mediumOf(part) !== undefined)
  );
}

function isRenamed(name: unknown): boolean {
  return typeof name === 'string' && !isFitting(name);
}

/** Whether something stands between a call and what it returned, which a chat has behind both. */
function answersLater(items: readonly JsonObject[]): boolean {
  const open = new Set<unknown>();
  let hasAnswers = false;
  return items.some((item) => {
    const type = textOf(item['type']) ?? 'message';
    if (type.endsWith('_output')) {
      hasAnswers = true;
      return !open.delete(item['call_id']);
    }
    if (type === 'reasoning') return false;
    if (hasAnswers || type === 'message') open.clear();
    hasAnswers = false;
    if (type !== 'message') open.add(item['call_id']);
    return false;
  });
}

/** Whether an assistant thinks more than once in what is one message of a chat. */
function thinksAgain(items: readonly JsonObject[]): boolean {
  let thoughts = 0;
  return items.some((item) => {
    const { role } = item;
    const type = textOf(item['type']) ?? 'message';
    if (type === 'reasoning') thoughts += 1;
    else if (type === 'message' ? role !== 'assistant' : !type.endsWith('_call')) thoughts = 0;
    return thoughts > 1;
  });
}

function isRefusal(part: unknown): boolean {
  return isObject(part) && part['type'] === 'refusal';
}

/** Names that JSON Schemas and the interface have: they say nothing. Others are read like texts. */
const QUIET_NAMES: ReadonlySet<string> = new Set(
  `$defs $id $ref $schema additionalProperties allOf allowed_tools anyOf const custom default definition definitions
   description else enum examples exclusiveMaximum exclusiveMinimum format function grammar id if include_obfuscation
   include_usage items json_schema maxItems maxLength maxProperties maximum minItems minLength minProperties minimum mode multipleOf name not nullable
   oneOf parameters pattern patternProperties prefixItems properties propertyNames required schema strict syntax then
   title tools type uniqueItems`.split(/\s+/),
);
/** Values that have the same meaning in every request. */
const QUIET_WORDS: ReadonlySet<string> = new Set(
  `array assistant auto boolean completed content custom custom_tool_call custom_tool_call_output developer function
   function_call function_call_output grammar in_progress incomplete input_text integer json_object json_schema message
   none null number object output_text reasoning reasoning_text refusal regex required string summary_text system text
   tool user`.split(/\s+/),
);

/** The member of a part that holds its medium, and the member of that with the data, by the type of the part. */
const MEDIA: Readonly<Record<string, readonly [member: string, data?: string]>> = {
  image_url: ['image_url', 'url'],
  audio_url: ['audio_url', 'url'],
  video_url: ['video_url', 'url'],
  input_audio: ['input_audio', 'data'],
  file: ['file', 'file_data'],
  input_image: ['image_url'],
  input_file: ['file_data'],
};

/** Whether messages or input items hold images, audio, video or files: what a model makes of these has no texts to be counted. */
export function hasMedia({ messages, input }: Readonly<Record<string, unknown>>): boolean {
  return [messages, input]
    .flatMap(listOf)
    .some(
      (message) =>
        isObject(message) &&
        [message['content'], message['output']]
          .flatMap(listOf)
          .some((part) => isObject(part) && mediumOf(part) !== undefined),
    );
}

function mediumOf({ type }: JsonObject): (typeof MEDIA)[string] | undefined {
  if (type === 'text') return undefined;
  return typeof type === 'string' && Object.hasOwn(MEDIA, type) ? MEDIA[type] : undefined;
}

type Reader = (body: JsonObject, into: Reading, decode: DecodeTokens | undefined) => void;

/** Of every route: the fields that no model reads. */
const QUIET_FIELDS = ['model', 'region', 'tier', 'receipt', 'user'];

const READERS: Readonly<Record<Route, Reader>> = {
  'chat.completions'(body, into) {
    readMessages(body, into);
    readField(body, 'tools', readTool, into);
    readField(body, 'functions', readDefinition, into);
    readField(body, 'prediction', readMessage, into);
    readFields(body, CHAT_FIELDS, into);
  },
  responses(body, into) {
    into.turn('system');
    into.whole(body['instructions']);
    if (typeof body['input'] === 'string') {
      into.turn('user');
      into.text(body['input']);
    } else readField(body, 'input', readItem, into);
    into.turn();
    readField(body, 'tools', readDefinition, into);
    readFields(body, RESPONSE_FIELDS, into);
  },
  messages(body, into) {
    readBlocks(body['system'], into);
    readTurns(body['messages'], into);
    into.bound('messages');
    readField(body, 'tools', readDefinition, into);
    readFields(body, MESSAGE_FIELDS, into);
  },
  completions(body, into, decode) {
    readInput(body['prompt'], into, decode);
    into.whole(body['suffix']);
    readFields(body, COMPLETION_FIELDS, into);
  },
  embeddings(body, into, decode) {
    readInput(body['input'], into, decode);
    readFields(body, EMBEDDING_FIELDS, into);
  },
};

/** Fields that are read before the others, or say nothing to a model. */
const CHAT_FIELDS: ReadonlySet<string> = new Set([
  ...QUIET_FIELDS,
  'messages',
  'tools',
  'functions',
  'prediction',
  'stop',
  'logit_bias',
]);
const COMPLETION_FIELDS: ReadonlySet<string> = new Set([
  ...QUIET_FIELDS,
  'prompt',
  'suffix',
  'stop',
  'logit_bias',
]);
const EMBEDDING_FIELDS: ReadonlySet<string> = new Set([
  ...QUIET_FIELDS,
  'input',
  'encoding_format',
]);
/** Some are repeated to the caller, and no model reads them. */
const RESPONSE_FIELDS: ReadonlySet<string> = new Set([
  ...QUIET_FIELDS,
  'input',
  'instructions',
  'tools',
  'include',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'truncation',
]);

const MESSAGE_FIELDS: ReadonlySet<string> = new Set([
  ...QUIET_FIELDS,
  'system',
  'messages',
  'tools',
  // It is not sent on.
  'metadata',
]);

function readFields(body: JsonObject, read: ReadonlySet<string>, into: Reading): void {
  for (const field in body) {
    // Where the interface has none, some servers take them all the same, and put their parts together.
    if (field === 'messages' && !read.has(field)) readMessages(body, into);
    else if (!read.has(field)) into.deep(body[field]);
    into.bound(field);
  }
}

function readField(body: JsonObject, field: string, read: ReadObject, into: Reading): void {
  each(body[field], read, into);
  into.bound(field);
}

function readMessages(body: JsonObject, into: Reading): void {
  readField(body, 'messages', readTurn, into);
  into.turn();
}

/** What tools returned stands in marks of its own on every server. */
function readTurn(message: JsonObject, into: Reading): void {
  into.turn(message['role'] === 'tool' ? undefined : message['role']);
  readMessage(message, into);
}

type ReadObject = (value: JsonObject, into: Reading) => void;

/** An object by its reader, or each of a list; what else is there is read as it is. */
function each(value: unknown, read: ReadObject, into: Reading): void {
  if (isObject(value)) return read(value, into);
  if (!Array.isArray(value)) return into.deep(value);
  for (let index = 0; index < value.length; index += 1) {
    const element: unknown = value[index];
    if (isObject(element)) read(element, into);
    else into.deep(element);
  }
}

/**
 * In the order in which servers put it together, not in its caller's. The members' own names are the
 * interface's and say nothing.
 */
function readMessage(message: JsonObject, into: Reading): void {
  const { content, refusal, tool_calls: calls, function_call: call } = message;
  for (const name of THOUGHTS) into.thought(message[name]);
  into.named(message['name'], firstTextIn(content));
  readContent(content, into);
  if (refusal !== undefined) into.refusal(refusal);
  if (calls !== undefined) each(calls, readCall, into);
  if (call !== undefined) each(call, readCalled, into);
  for (const name in message) if (!MESSAGE_MEMBERS.has(name)) into.deep(message[name]);
}

/** What an assistant thought, which templates write before what it said: the first name is the older one. */
const THOUGHTS = ['reasoning_content', 'reasoning'] as const;

const MESSAGE_MEMBERS: ReadonlySet<string> = new Set([
  ...THOUGHTS,
  'content',
  'refusal',
  'tool_calls',
  'function_call',
]);

/**
 * Turns of one role in a row are one to Anthropic's servers, so their texts are put together too; also where a turn stands between
 * that says nothing, or what an assistant thought, which is left out where it is not signed.
 */
function readTurns(turns: unknown, into: Reading): void {
  let role: unknown;
  let pieces: Piece[] = [];
  for (const turn of listOf(turns)) {
    if (!isObject(turn)) {
      into.deep(turn);
      continue;
    }
    if (turn['role'] !== role && !saysNothing(turn)) {
      into.message(pieces);
      pieces = [];
      role = turn['role'];
    }
    for (const name in turn) {
      if (name === 'content') addPieces(turn[name], pieces, into);
      else into.deep(turn[name]);
    }
  }
  into.message(pieces);
}

function saysNothing({ content }: JsonObject): boolean {
  if (!Array.isArray(content)) return content === '';
  return content.every((one) => isObject(one) && THOUGHT_BLOCKS.has(one['type']));
}

const THOUGHT_BLOCKS: ReadonlySet<unknown> = new Set(['thinking', 'redacted_thinking']);

/** A text of Anthropic's interface, or blocks of which some are texts. */
function readBlocks(content: unknown, into: Reading): void {
  if (content === undefined) return;
  const pieces: Piece[] = [];
  addPieces(content, pieces, into);
  into.message(pieces);
}

function addPieces(content: unknown, pieces: Piece[], into: Reading): void {
  if (typeof content === 'string') {
    if (content !== '') pieces.push({ kind: 'text', text: content });
  } else if (isObject(content)) readBlock(content, pieces, into);
  else
    for (const block of listOf(content)) {
      if (isObject(block)) readBlock(block, pieces, into);
      else into.deep(block);
    }
}

function readBlock(block: JsonObject, pieces: Piece[], into: Reading): void {
  if (block['type'] === 'search_result')
    into.named(
      `${String(block['source'])} ${String(block['title'])}`,
      firstTextIn(block['content']),
    );
  for (const name in block) {
    const value = block[name];
    const kind = BLOCK_TEXTS.get(name);
    if (kind !== undefined && typeof value === 'string') {
      if (value !== '') pieces.push({ kind, text: value });
    } else if (name === 'content') readBlocks(value, into);
    else if (name === 'source' && isObject(value)) readSource(value, pieces, into);
    else if (name !== 'type' || !BLOCK_TYPES.has(value)) into.deep(value);
  }
}

const BLOCK_TEXTS: ReadonlyMap<string, Piece['kind']> = new Map([
  ['text', 'text'],
  ['thinking', 'thought'],
]);
const BLOCK_TYPES: ReadonlySet<unknown> = new Set([
  'document',
  'image',
  'redacted_thinking',
  'search_result',
  'text',
  'thinking',
  'tool_result',
  'tool_use',
]);

/** A medium by its data or its address, or a document that is a text or blocks. */
function readSource(source: JsonObject, pieces: Piece[], into: Reading): void {
  const { type, media_type: mediaType, data } = source;
  for (const name in source) {
    const value = source[name];
    if (name === 'content') readBlocks(value, into);
    else if (name === 'url') {
      pieces.push({ kind: 'medium', text: '' });
      into.deep(value);
    } else if (name === 'data' && type === 'base64')
      readData(`data:${String(mediaType)};base64,${String(data)}`, pieces, into);
    else if (name === 'data') into.whole(value);
    else if (name !== 'type') into.deep(value);
  }
}

function readItem(item: JsonObject, into: Reading): void {
  // What an assistant thought and whom it called stands in messages of its own, or in those around.
  into.turn(item['type'] === 'reasoning' ? 'assistant' : item['role']);
  const kind = item['type'] === 'reasoning' ? 'thought' : 'text';
  for (const name of ['content', 'output', 'summary']) readContent(item[name], into, kind);
  for (const name of ['arguments', 'input']) {
    into.named(item['name'], item[name]);
    into.written(item[name]);
  }
  for (const name in item) if (!ITEM_MEMBERS.has(name)) into.deep(item[name]);
}

const ITEM_MEMBERS: ReadonlySet<string> = new Set([
  'content',
  'output',
  'summary',
  'arguments',
  'input',
]);

function readCall(call: JsonObject, into: Reading): void {
  for (const name in call) {
    if (name === 'function' || name === 'custom') each(call[name], readCalled, into);
    else into.deep(call[name]);
  }
}

function readCalled(called: JsonObject, into: Reading): void {
  for (const name in called) {
    if (name === 'arguments' || name === 'input') {
      into.named(called['name'], called[name]);
      into.written(called[name]);
    } else into.deep(called[name]);
  }
}

function readTool(tool: JsonObject, into: Reading): void {
  for (const name in tool) {
    const value = tool[name];
    if (name === 'description') into.whole(value);
    else if (name === 'function') each(value, readDefinition, into);
    else into.deep(value);
  }
}

function readDefinition(definition: JsonObject, into: Reading): void {
  into.named(definition['name'], definition['description']);
  for (const name in definition) {
    if (name === 'description') into.whole(definition[name]);
    else if (name === 'tools') each(definition[name], readDefinition, into);
    else into.deep(definition[name]);
  }
}

/** The first of the texts that a content is. */
function firstTextIn(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const part: unknown = content.find((one) => isObject(one) && typeof one['text'] === 'string');
  return isObject(part) ? part['text'] : undefined;
}

/** A text, or parts of which some are texts. */
function readContent(content: unknown, into: Reading, kind: 'text' | 'thought' = 'text'): void {
  if (!Array.isArray(content)) return into.whole(content);
  const pieces: Piece[] = [];
  for (let index = 0; index < content.length; index += 1) {
    const part: unknown = content[index];
    if (isObject(part)) readPart(part, kind, pieces, into);
    else into.deep(part);
  }
  into.message(pieces);
}

/** A piece of what a message says. */
interface Piece {
  kind: 'text' | 'thought' | 'refusal' | 'medium' | 'file' | 'written';
  text: string;
}

function readPart(part: JsonObject, kind: Piece['kind'], pieces: Piece[], into: Reading): void {
  const place = mediumOf(part);
  if (place === undefined && isUnknownPart(part)) {
    for (const text of wordsOf(part)) pieces.push({ kind, text });
    into.deep(part);
    return;
  }
  const medium = place?.[0];
  const inside = place?.[1];
  for (const name in part) {
    const value = part[name];
    if ((name === 'text' || name === 'refusal') && typeof value === 'string') {
      if (value !== '') pieces.push({ kind: name === 'text' ? kind : name, text: value });
    } else if (name !== medium) {
      if (name !== 'type' || medium === undefined) into.deep(value);
    } else if (inside === undefined) readData(value, pieces, into, part);
    else if (!isObject(value)) into.deep(value);
    else {
      for (const member in value) {
        if (member === inside) readData(value[member], pieces, into, value);
        else into.deep(value[member]);
      }
    }
  }
}

/** Of a type that only its server knows. */
function isUnknownPart({ type }: JsonObject): boolean {
  return typeof type === 'string' && !TEXT_PARTS.has(type);
}

const TEXT_PARTS: ReadonlySet<string> = new Set([
  'input_text',
  'output_text',
  'reasoning_text',
  'refusal',
  'summary_text',
  'text',
]);

/** Images and sounds have no text. Some servers write files that are texts into the prompt. */
function readData(data: unknown, pieces: Piece[], into: Reading, beside: JsonObject = {}): void {
  if (typeof data !== 'string') return into.deep(data);
  const texts = textsOfData(data, Object.values(beside).some(namesText));
  if (texts === undefined) return into.unlike();
  into.deep(wordsBesideData(data));
  if (texts.length === 0) pieces.push({ kind: 'medium', text: '' });
  for (const text of texts) pieces.push({ kind: 'file', text });
}

/** A text, texts, tokens, or arrays of tokens. */
function readInput(input: unknown, into: Reading, decode: DecodeTokens | undefined): void {
  if (!Array.isArray(input)) return into.whole(input);
  if (isTokens(input)) {
    if (decode !== undefined) into.text(decode(input));
    return;
  }
  for (const item of input as unknown[]) {
    if (!Array.isArray(item) || !isTokens(item)) into.whole(item);
    else if (decode !== undefined) into.text(decode(item));
  }
}

function isTokens(items: readonly unknown[]): items is readonly number[] {
  return items.length > 0 && items.every((item) => Number.isInteger(item));
}

/** Collects the texts of a request. */
class Reading {
  /** Texts that stand alone, and messages of several pieces, in order. */
  readonly #said: (string | readonly Piece[])[] = [];
  /** Whose turn begins where in what was said. */
  readonly #turns = new Map<number, unknown>();
  #role: unknown;
  #lastRole: unknown;
  /** Two turns of one role are in a row. */
  #goesOn = false;
  #isOfTexts = true;
  readonly #beside: string[] = [];
  /** Names with what stands behind them. */
  readonly #named: string[] = [];
  #tooMany: string | undefined;
  #hasUnlike = false;
  #unlike: string | undefined;
  #isCut = false;
  #hasMedium = false;
  #hasFile = false;
  /** Characters that may still be put together. */
  #room = Number.POSITIVE_INFINITY;
  /** Pieces that are there and that some servers leave out. */
  readonly #optional = new Set<Piece['kind']>();

  /** What follows is said by this role, and not in one with what was said before; without a role it is no turn. */
  turn(role?: unknown): void {
    this.#role = role === 'developer' ? 'system' : role;
    this.#turns.set(this.#said.length, this.#role);
  }

  text(text: string): void {
    if (text === '') return;
    this.#take();
    this.#said.push(text);
  }

  /** A member that is a text by the interface. */
  whole(value: unknown): void {
    if (typeof value === 'string') this.text(value);
    else this.deep(value);
  }

  refusal(value: unknown): void {
    if (typeof value === 'string' && value !== '') this.message([{ kind: 'refusal', text: value }]);
    else this.deep(value);
  }

  /** Some servers leave it out. */
  thought(value: unknown): void {
    if (typeof value === 'string' && value !== '') this.message([{ kind: 'thought', text: value }]);
    else this.deep(value);
  }

  /** A name and what servers write behind it, however a request has them: a sentence may begin in the one and end in the other. */
  named(name: unknown, behind: unknown): void {
    if (typeof name !== 'string' || typeof behind !== 'string' || name === '' || behind === '')
      return;
    const end = behind.slice(0, BEHIND_NAME_CHARS).replace(ESCAPE, unescaped);
    this.#named.push(`${name.slice(-BEHIND_NAME_CHARS)} ${end}`);
  }

  /** Arguments of a call, which are JSON mostly: servers take them apart, and what was escaped is a text there. */
  written(value: unknown): void {
    if (typeof value !== 'string' || !value.includes('\\')) return this.whole(value);
    this.#say([{ kind: 'written', text: value }]);
    this.#isCut = true;
  }

  /** The parts of a message. */
  message(pieces: readonly Piece[]): void {
    if (pieces.length === 0) return;
    const [only] = pieces;
    if (pieces.length === 1 && only!.kind === 'text') return this.text(only!.text);
    this.#say(pieces);
    for (const { kind } of pieces)
      if (kind === 'refusal' || kind === 'thought') this.#optional.add(kind);
    this.#isCut ||= isCut(pieces);
    this.#hasFile ||= pieces.some(({ kind }) => kind === 'file');
    this.#hasMedium ||= pieces.some(({ kind }) => kind === 'medium');
  }

  /** Data were read that are not the same to all servers. */
  unlike(): void {
    this.#hasUnlike = true;
  }

  /** Every text in a value, with what it holds where it is a `data:` address, and every name that its caller chose. */
  deep(value: unknown): void {
    const from = this.#beside.length;
    addDeep(value, this.#beside);
    for (let at = from, { length } = this.#beside; at < length; at += 1)
      for (const text of textsOfStrayData(this.#beside[at]!)) this.#beside.push(text);
  }

  bound(field: string): void {
    if (this.#beside.length > BESIDE_TEXTS_MAX) this.#tooMany ??= field;
    if (this.#hasUnlike) this.#unlike ??= field;
  }

  texts(): Texts {
    const read = this.#inEachWay();
    const tagged: string[] = [];
    for (const texts of [read.prompt, read.joined, read.beside])
      for (const text of texts) if (text.search(TAGS) !== -1) this.#put(withTagsRead(text), tagged);
    for (const text of tagged) read.joined.push(text);
    return read;
  }

  counted(): string[] {
    const isUncounted = this.#hasFile || this.#optional.has('thought');
    return this.#add(apart, [], isUncounted ? ['file', 'thought'] : []);
  }

  #inEachWay(): Texts {
    const joined = this.#named;
    const [beside, tooMany, unlike] = [this.#beside, this.#tooMany, this.#unlike];
    const more = {
      ...(tooMany !== undefined && { tooMany }),
      ...(unlike !== undefined && { unlike }),
    };
    // As mostly: there is nothing to put together.
    if (this.#isOfTexts && !this.#goesOn) {
      const prompt = this.#said as string[];
      return { prompt, joined, beside, ...more };
    }
    const prompt = this.#add(apart, [], []);
    // What is too much is refused by these, and nothing is missing in them.
    this.#room = SCREENED_CHARS_MAX;
    const ways = this.#ways();
    for (const without of subsetsOf(this.#optional)) {
      for (const way of ways) {
        if (way !== apart || without.length > 0) this.#add(way, joined, without);
        if (this.#goesOn) this.#add(way, joined, without, 'turns in one');
      }
    }
    return { prompt, joined, beside, ...more };
  }

  #ways(): Way[] {
    const holdsMedia = this.#hasMedium || this.#hasFile;
    const ways = [apart];
    if (!this.#isCut && !(this.#goesOn && holdsMedia)) return ways;
    ways.push(together);
    if (holdsMedia) ways.push(betweenMedia);
    if (this.#hasFile) ways.push(withoutFiles);
    return ways;
  }

  #say(pieces: readonly Piece[]): void {
    this.#take(pieces.every(({ kind }) => kind === 'thought' || kind === 'refusal'));
    this.#said.push(pieces);
    this.#isOfTexts = false;
  }

  /** Notes whose turn it is. What may be left out keeps no two turns apart. */
  #take(isOptional = false): void {
    if (this.#turns.has(this.#said.length) && this.#role !== undefined)
      this.#goesOn ||= this.#role === this.#lastRole;
    if (!isOptional) this.#lastRole = this.#role;
  }

  /** Adds all that was said, with the pieces of a message put together in one way, as far as there is room. */
  #add(
    way: Way,
    out: string[],
    without: readonly Piece['kind'][],
    turns: 'apart' | 'turns in one' = 'apart',
  ): string[] {
    let [role, lastRole]: unknown[] = [];
    let isFirst = false;
    for (const [at, said] of this.#said.entries()) {
      if (this.#room < 0) break;
      if (this.#turns.has(at)) {
        role = this.#turns.get(at);
        isFirst = true;
      }
      const pieces =
        typeof said === 'string' ? said : said.filter(({ kind }) => !without.includes(kind));
      for (const text of typeof pieces === 'string' ? [pieces] : way(pieces)) {
        const goesOn = isFirst && role !== undefined && role === lastRole;
        isFirst = false;
        // A medium stands between what is before and behind it.
        lastRole = text === '' ? undefined : role;
        if (goesOn && text !== '' && turns === 'turns in one')
          this.#put(this.#takeBack(out) + text, out);
        else if (text !== '') this.#put(text, out);
      }
    }
    return out;
  }

  #takeBack(out: string[]): string {
    const last = out.pop()!;
    this.#room += last.length;
    return last;
  }

  #put(text: string, out: string[]): void {
    if (this.#room < 0) return;
    this.#room -= text.length;
    out.push(text);
  }
}

/** Tags of the characters of ASCII, which are not drawn: what they spell some models read, and where they cut a word others do not. */
const TAGS = /[\u{e0020}-\u{e007e}]/gu;

function withTagsRead(text: string): string {
  return text.replaceAll(TAGS, (tag) => String.fromCodePoint(tag.codePointAt(0)! - 0xe0000));
}

function subsetsOf<T>(all: Iterable<T>): T[][] {
  let subsets: T[][] = [[]];
  for (const one of all) subsets = [...subsets, ...subsets.map((some) => [...some, one])];
  return subsets;
}

/** A way in which servers put the pieces of a message together. */
type Way = (pieces: readonly Piece[]) => string[];

const apart: Way = (pieces) => pieces.map(({ text }) => text);
const together: Way = (pieces) => [pieces.map(spoken).join('')].filter((text) => text !== '');
const withoutFiles: Way = (pieces) => together(pieces.filter(({ kind }) => kind !== 'file'));
const betweenMedia: Way = (pieces) => {
  if (pieces.length === 0) return [];
  const stretches = [''];
  for (const piece of pieces) {
    if (piece.kind === 'medium' || piece.kind === 'file') stretches.push('');
    else stretches[stretches.length - 1] += spoken(piece);
  }
  return stretches;
};

function spoken({ kind, text }: Piece): string {
  return kind === 'written' ? text.replace(ESCAPE, unescaped) : text;
}

function addDeep(value: unknown, out: string[]): void {
  if (out.length > BESIDE_TEXTS_MAX) return;
  if (typeof value === 'string') {
    if (value !== '' && !QUIET_WORDS.has(value)) out.push(value);
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) addDeep(value[index], out);
  } else if (isObject(value)) {
    for (const name in value) {
      if (name !== '' && !QUIET_NAMES.has(name)) out.push(name);
      addDeep(value[name], out);
    }
  }
}

/** An escape in a string of JSON. */
const ESCAPE = /\\(?:u([\da-fA-F]{4})|(.))/gs;
const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };

function unescaped(_escape: string, code: string | undefined, character: string): string {
  if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
  return CONTROLS[character] ?? character;
}

/** Whether pieces may read otherwise together than apart. With white space between two of them they do not. */
function isCut(pieces: readonly Piece[]): boolean {
  let before: Piece | undefined;
  for (const piece of pieces) {
    if (piece.text === '') continue;
    if (before !== undefined) {
      if (piece.kind !== before.kind) return true;
      if (!isSpace(before.text.at(-1)) && !isSpace(piece.text[0])) return true;
    }
    before = piece;
  }
  return false;
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\t' || character === '\r';
}
