import { isOnlyInResponses, isSaidInChats } from '#shared/dialects/chat-of-response.ts';
import type { Dialect } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { wordsOf } from '#shared/dialects/words.ts';
import { countedTextsOf } from './texts.ts';

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
export function promptsOf(route: Dialect, body: Readonly<Record<string, unknown>>): Prompt[] {
  if (route === 'chat.completions') return [chatPrompt(body)];
  if (route === 'responses') return [responsePrompt(body)];
  const suffix =
    route === 'completions' && typeof body['suffix'] === 'string' ? [body['suffix']] : [];
  return inputsOf(route === 'completions' ? body['prompt'] : body['input'], suffix);
}

/** Predicted output is left out: the model does not read it as part of the prompt. */
function chatPrompt({ messages, tools, functions }: Readonly<Record<string, unknown>>): Prompt {
  return {
    texts: countedTextsOf('chat.completions', { messages, tools, functions }),
    tokens: 0,
    messages: Array.isArray(messages) ? messages.length : 0,
  };
}

/**
 * Reasoning of earlier turns is left out: a model does not read it again, or its upstream has its own count. So is what tools
 * did that such a server runs; of items that chats have no words for the texts are counted.
 */
function responsePrompt({ instructions, input, tools }: Readonly<Record<string, unknown>>): Prompt {
  const items = Array.isArray(input)
    ? (input as unknown[]).flatMap((item) => (isObject(item) ? countedOf(item) : [item]))
    : input;
  const texts = countedTextsOf('responses', { instructions, input: items, tools });
  const told = typeof instructions === 'string' ? 1 : 0;
  return { texts, tokens: 0, messages: told + (Array.isArray(items) ? items.length : 1) };
}

function countedOf(item: JsonObject): JsonObject[] {
  if (isCounted(item)) return [item];
  return isOnlyInResponses(item) ? [{ content: wordsOf(item).join('\n') }] : [];
}

/** Whether the tokens of an item are those of its texts, wherever it is sent. */
export function isCounted(item: JsonObject): boolean {
  return isSaidInChats(item) && item['type'] !== 'reasoning';
}

function inputsOf(input: unknown, suffix: readonly string[]): Prompt[] {
  if (typeof input === 'string') return [{ texts: [input, ...suffix], tokens: 0, messages: 0 }];
  if (!Array.isArray(input)) return [];
  if (typeof input[0] === 'number') return [{ texts: suffix, tokens: input.length, messages: 0 }];
  return (input as unknown[]).flatMap((one) => inputsOf(one, suffix));
}
