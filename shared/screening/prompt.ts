import type { Route } from '#shared/kernel/inference.ts';

/** Turns token ids back into text, where the model's tokenizer is known. */
export type DecodeTokens = (tokens: readonly number[], charsMax?: number) => string;

/**
 * The texts of a parsed OpenAI request body that a model would read, as references into the body (nothing is copied):
 * messages of every role with their text parts, refusals and tool-call arguments, descriptions of tools,
 * predicted output; prompts with their suffix; embedding inputs. Token arrays are read through `decode`, and
 * skipped without it. The body is untrusted: values of another shape are passed over, never an error.
 */
export function textsOf(route: Route, body: unknown, decode?: DecodeTokens): string[] {
  const out: string[] = [];
  if (!isRecord(body)) return out;
  if (route === 'chat.completions') addChat(body, out);
  else if (route === 'completions') {
    addInput(body['prompt'], out, decode);
    add(body['suffix'], out);
  } else addInput(body['input'], out, decode);
  return out;
}

/** A text that a model reads in one go: it must fit in the context window as a whole. */
export interface Prompt {
  texts: readonly string[];
  /** Tokens that the client sent as ids. */
  tokens: number;
  /** Messages of a chat; 0 for other prompts. */
  messages: number;
}

/** What is spent on finding out whether the prompts of one request fit; then the upstream is to say. A second is 5 MB of text. */
const FITTING_MS_MAX = 1_000;

/** What may still be spent on one request. */
export interface Budget {
  ms: number;
}

/** A budget for finding out whether prompts fit, for all prompts of one request together. */
export function fittingBudget(): Budget {
  return { ms: FITTING_MS_MAX };
}

/**
 * The prompts of a request: one for a chat, one for each prompt of a batch, one for each embedding input.
 * Images, audio and files have no text and are not counted. The body is untrusted; other shapes are passed over.
 */
export function promptsOf(route: Route, body: Readonly<Record<string, unknown>>): Prompt[] {
  if (route === 'chat.completions') return [chatPrompt(body)];
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
