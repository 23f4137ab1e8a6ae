import type { Route } from '#shared/kernel/inference.ts';

/** Turns token ids back into text, where the model's tokenizer is known. */
export type DecodeTokens = (tokens: readonly number[], charsMax?: number) => string;

/**
 * The texts of a parsed OpenAI request body that a model would read, as references into the body (nothing is copied):
 * messages of every role with their text parts, refusals and tool-call arguments, descriptions of tools,
 * predicted output; instructions and every input item of a request for a response; prompts with their suffix; embedding
 * inputs. Token arrays are read through `decode`, and skipped without it. The body is untrusted: values of another shape
 * are passed over, never an error.
 */
export function textsOf(route: Route, body: unknown, decode?: DecodeTokens): string[] {
  const out: string[] = [];
  if (!isRecord(body)) return out;
  if (route === 'chat.completions') addChat(body, out);
  else if (route === 'responses') addResponse(body, out);
  else if (route === 'completions') {
    addInput(body['prompt'], out, decode);
    add(body['suffix'], out);
  } else addInput(body['input'], out, decode);
  return out;
}

/** So many texts and names as 128 tools with five hundred each have. What has more is no description of anything. */
export const BESIDE_TEXTS_MAX = 65_536;

/** What a request says beside its prompt, or which field says too much. */
export type BesideTexts = { texts: string[] } | { tooMany: string };

/**
 * The texts of a parsed request body that `textsOf` leaves out and that may reach a model all the same: names, the JSON
 * Schemas of tools and of `response_format` with the names of their members, and every field that passes through
 * unread. Media, token biases and what only the gateway or a log reads are passed over. The body is untrusted and is
 * nested as deep as the parser lets it.
 */
export function besideTextsOf(route: Route, body: Readonly<Record<string, unknown>>): BesideTexts {
  const out: string[] = [];
  for (const field in body) {
    if (QUIET_FIELDS.has(field)) continue;
    addField(route, field, body[field], out);
    if (out.length > BESIDE_TEXTS_MAX) return { tooMany: field };
  }
  return { texts: out };
}

/** Top-level fields that no model reads. */
const QUIET_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'region',
  'tier',
  'receipt',
  'user',
  'stop',
  'logit_bias',
  'stream_options',
  'encoding_format',
]);
/** Names that JSON Schemas and the interface have: they say nothing. Others are read like texts. */
const QUIET_NAMES: ReadonlySet<string> = new Set(
  `$defs $id $ref $schema additionalProperties allOf allowed_tools anyOf const custom default definition definitions
   description else enum examples exclusiveMaximum exclusiveMinimum format function grammar id if items json_schema
   maxItems maxLength maxProperties maximum minItems minLength minProperties minimum mode multipleOf name not nullable
   oneOf parameters pattern patternProperties prefixItems properties propertyNames required schema strict syntax then
   title tools type uniqueItems`.split(/\s+/),
);
/** Values that have the same meaning in every request. */
const QUIET_WORDS: ReadonlySet<string> = new Set(
  `array auto boolean content custom function grammar integer json_object json_schema none null number object regex
   required string text`.split(/\s+/),
);
/** Of a content part: which media there are, and the members that hold them. */
const MEDIA = ['image_url', 'input_audio', 'file', 'audio_url', 'video_url'] as const;
/** And of a part of a response's input; these hold their data themselves. */
const INPUT_MEDIA = ['input_image', 'input_file', 'input_audio'] as const;
const INPUT_MEDIA_DATA: ReadonlySet<string> = new Set(['image_url', 'file_data']);
const MEDIA_DATA: ReadonlySet<string> = new Set(['url', 'data', 'file_data']);
/** Members that `textsOf` has read. */
const READ = {
  message: new Set(['role', 'content', 'refusal', 'tool_calls', 'function_call']),
  part: new Set(['type', 'text', 'refusal', ...MEDIA]),
  call: new Set(['function', 'custom']),
  arguments: new Set(['arguments', 'input']),
  tool: new Set(['function', 'description']),
  description: new Set(['description']),
  content: new Set(['content']),
  item: new Set(['type', 'role', 'status', 'content', 'output', 'summary', 'arguments', 'input']),
  itemPart: new Set(['type', 'text', 'refusal', 'input_audio', ...INPUT_MEDIA_DATA]),
} as const satisfies Record<string, ReadonlySet<string>>;

/** Whether messages or input items hold images, audio, video or files: what a model makes of these has no texts to be counted. */
export function hasMedia({ messages, input }: Readonly<Record<string, unknown>>): boolean {
  const media: ReadonlySet<unknown> = new Set([...MEDIA, ...INPUT_MEDIA]);
  return [...array(messages), ...array(input)].some(
    (message) =>
      isRecord(message) &&
      [...array(message['content']), ...array(message['output'])].some(
        (part) => isRecord(part) && media.has(part['type']),
      ),
  );
}

function addField(route: Route, field: string, value: unknown, out: string[]): void {
  if (route === 'chat.completions') {
    if (field === 'messages') {
      for (const message of array(value)) addBesideMessage(message, out);
    } else if (field === 'tools') {
      for (const tool of array(value)) {
        addMembers(tool, READ.tool, out);
        // `textsOf` has read the description of a function, or of a tool that has none.
        if (isRecord(tool)) addMembers(tool['function'], READ.description, out);
      }
    } else if (field === 'functions') {
      for (const legacy of array(value)) addMembers(legacy, READ.description, out);
    } else if (field === 'prediction') {
      for (const part of isRecord(value) ? array(value['content']) : NONE) addPart(part, out);
      addMembers(value, READ.content, out);
    } else addDeep(value, out);
  } else if (route === 'responses') {
    if (field === 'input') for (const item of array(value)) addBesideItem(item, out);
    else if (field === 'tools')
      for (const tool of array(value)) addMembers(tool, READ.description, out);
    else if (!RESPONSE_QUIET_FIELDS.has(field)) addDeep(value, out);
  } else if (route === 'completions') {
    if (field !== 'prompt' && field !== 'suffix') addDeep(value, out);
  } else if (field !== 'input') addDeep(value, out);
}

function addBesideMessage(message: unknown, out: string[]): void {
  if (!isRecord(message)) return;
  for (const part of array(message['content'])) addPart(part, out);
  for (const call of array(message['tool_calls'])) {
    if (!isRecord(call)) continue;
    addMembers(call, READ.call, out);
    addMembers(call['function'], READ.arguments, out);
    addMembers(call['custom'], READ.arguments, out);
  }
  addMembers(message['function_call'], READ.arguments, out);
  addMembers(message, READ.message, out);
}

/** Of a request for a response: what `textsOf` has read, or what is repeated to the caller and read by nobody else. */
const RESPONSE_QUIET_FIELDS: ReadonlySet<string> = new Set([
  'instructions',
  'include',
  'prompt_cache_key',
  'safety_identifier',
  'service_tier',
  'truncation',
]);

function addBesideItem(item: unknown, out: string[]): void {
  if (!isRecord(item)) return;
  for (const part of [
    ...array(item['content']),
    ...array(item['output']),
    ...array(item['summary']),
  ]) {
    addMembers(part, READ.itemPart, out);
    if (isRecord(part)) addMembers(part['input_audio'], MEDIA_DATA, out);
  }
  addMembers(item, READ.item, out);
}

function addPart(part: unknown, out: string[]): void {
  if (!isRecord(part)) return;
  addMembers(part, READ.part, out);
  for (const medium of MEDIA) addMembers(part[medium], MEDIA_DATA, out);
}

/**
 * What the members of an object say, if it is one, without those that are read elsewhere. Their own names are the
 * interface's and say nothing.
 */
function addMembers(value: unknown, read: ReadonlySet<string>, out: string[]): void {
  if (!isRecord(value)) return;
  for (const name in value) if (!read.has(name)) addDeep(value[name], out);
}

/** Every text in a value, and every name that somebody chose. */
function addDeep(value: unknown, out: string[]): void {
  if (out.length > BESIDE_TEXTS_MAX) return;
  if (typeof value === 'string') {
    if (!QUIET_WORDS.has(value)) add(value, out);
  } else if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) addDeep(value[index], out);
  } else if (isRecord(value)) {
    for (const name in value) {
      if (!QUIET_NAMES.has(name)) add(name, out);
      addDeep(value[name], out);
    }
  }
}

/** A text that a model reads in one go: it must fit in the context window as a whole. */
export interface Prompt {
  texts: readonly string[];
  /** Tokens that the client sent as ids. */
  tokens: number;
  /** Messages of a chat; 0 for other prompts. */
  messages: number;
}

/** What is spent on finding out whether the prompts of one request fit; then the upstream is to say. 8 MB of text, under a second. */
const FITTING_STEPS_MAX = 8_388_608;

/** What may still be spent on one request, in steps of counting: a busy machine gives the same answer as an idle one. */
export interface Budget {
  steps: number;
}

/** A budget for finding out whether prompts fit, for all prompts of one request together. */
export function fittingBudget(): Budget {
  return { steps: FITTING_STEPS_MAX };
}

/**
 * The prompts of a request: one for a chat, one for each prompt of a batch, one for each embedding input.
 * Images, audio and files have no text and are not counted. The body is untrusted; other shapes are passed over.
 */
export function promptsOf(route: Route, body: Readonly<Record<string, unknown>>): Prompt[] {
  if (route === 'chat.completions') return [chatPrompt(body)];
  if (route === 'responses') return [responsePrompt(body)];
  const suffix =
    route === 'completions' && typeof body['suffix'] === 'string' ? [body['suffix']] : [];
  return inputsOf(route === 'completions' ? body['prompt'] : body['input'], suffix);
}

/** Predicted output is left out: the model does not read it as part of the prompt. */
function chatPrompt({ messages, tools, functions }: Readonly<Record<string, unknown>>): Prompt {
  return {
    texts: textsOf('chat.completions', { messages, tools, functions }),
    tokens: 0,
    messages: Array.isArray(messages) ? messages.length : 0,
  };
}

/** Reasoning of earlier turns is left out: a model does not read it again, or its upstream has its own count. */
function responsePrompt({ instructions, input, tools }: Readonly<Record<string, unknown>>): Prompt {
  const items = Array.isArray(input)
    ? input.filter((item) => !isRecord(item) || item['type'] !== 'reasoning')
    : input;
  const texts = textsOf('responses', { instructions, input: items, tools });
  const told = typeof instructions === 'string' ? 1 : 0;
  return { texts, tokens: 0, messages: told + (Array.isArray(items) ? items.length : 1) };
}

function inputsOf(input: unknown, suffix: readonly string[]): Prompt[] {
  if (typeof input === 'string') return [{ texts: [input, ...suffix], tokens: 0, messages: 0 }];
  if (!Array.isArray(input)) return [];
  if (typeof input[0] === 'number') return [{ texts: suffix, tokens: input.length, messages: 0 }];
  return (input as unknown[]).flatMap((one) => inputsOf(one, suffix));
}

function addChat(body: Record<string, unknown>, out: string[]): void {
  for (const message of array(body['messages'])) if (isRecord(message)) addMessage(message, out);
  for (const tool of array(body['tools'])) {
    const described = isRecord(tool) && isRecord(tool['function']) ? tool['function'] : tool;
    if (isRecord(described)) add(described['description'], out);
  }
  for (const legacy of array(body['functions']))
    if (isRecord(legacy)) add(legacy['description'], out);
  if (isRecord(body['prediction'])) addContent(body['prediction']['content'], out);
}

function addResponse(body: Record<string, unknown>, out: string[]): void {
  add(body['instructions'], out);
  add(body['input'], out);
  for (const item of array(body['input'])) {
    if (!isRecord(item)) continue;
    for (const field of ['content', 'output', 'summary']) addContent(item[field], out);
    add(item['arguments'], out);
    add(item['input'], out);
  }
  for (const tool of array(body['tools'])) if (isRecord(tool)) add(tool['description'], out);
}

function addMessage(message: Record<string, unknown>, out: string[]): void {
  addContent(message['content'], out);
  add(message['refusal'], out);
  for (const call of array(message['tool_calls'])) {
    if (!isRecord(call)) continue;
    if (isRecord(call['function'])) add(call['function']['arguments'], out);
    if (isRecord(call['custom'])) add(call['custom']['input'], out);
  }
  if (isRecord(message['function_call'])) add(message['function_call']['arguments'], out);
}

/** A text, or parts of which some are texts. */
function addContent(content: unknown, out: string[]): void {
  add(content, out);
  for (const part of array(content)) {
    if (!isRecord(part)) continue;
    add(part['text'], out);
    add(part['refusal'], out);
  }
}

/** A text, texts, tokens, or arrays of tokens. */
function addInput(input: unknown, out: string[], decode: DecodeTokens | undefined): void {
  add(input, out);
  const items = array(input);
  if (decode !== undefined && isTokens(items)) out.push(decode(items));
  else {
    for (const item of items) {
      add(item, out);
      const tokens = array(item);
      if (decode !== undefined && isTokens(tokens)) out.push(decode(tokens));
    }
  }
}

function add(value: unknown, out: string[]): void {
  if (typeof value === 'string' && value !== '') out.push(value);
}

const NONE: readonly unknown[] = [];

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : NONE;
}

function isTokens(items: readonly unknown[]): items is readonly number[] {
  return items.length > 0 && items.every((item) => Number.isInteger(item));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
