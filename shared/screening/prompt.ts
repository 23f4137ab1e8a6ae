import type { Route } from '#shared/kernel/inference.ts';
import { textsOf } from './texts.ts';

/** What a model reads in one go: it must fit in the context window as a whole. */
export interface Prompt {
  texts: readonly string[];
  /** Tokens that the client sent as ids. */
  tokens: number;
  /** Messages of a chat; 0 for other prompts. */
  messages: number;
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
