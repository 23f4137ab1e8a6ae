import { BadRequest, type Input } from './input.ts';
import { countTokens } from './tokens.ts';

export interface ChatPrompt {
  /** Text of the last message of the user: what the answer is about. */
  question: string;
  /** True when the last message is a tool's answer: it is time to speak, not to call again. */
  answersTool: boolean;
  tokens: number;
}

/** OpenAI's count for its chat format: each message is framed by three tokens, the reply begins with three. */
const TOKENS_PER_MESSAGE = 3;
const TOKENS_FOR_REPLY = 3;
/** A low-detail image of the same documentation; the sandbox does not look at pictures. */
const TOKENS_PER_IMAGE = 85;

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

type Message = Record<string, unknown>;

function textAndImages(content: unknown, path: string): { text: string; images: number } {
  if (content === null || content === undefined) return { text: '', images: 0 };
  if (typeof content === 'string') return { text: content, images: 0 };
  if (!Array.isArray(content)) {
    throw new BadRequest(`${path}.content must be a text or an array of parts.`, `${path}.content`);
  }
  let text = '';
  let images = 0;
  for (const part of content as Message[]) {
    if (typeof part?.['text'] === 'string') text += part['text'];
    else images += 1;
  }
  return { text, images };
}

/** Reads and counts the messages of a chat request. */
export function readChatPrompt(input: Input): ChatPrompt {
  const messages = input.list('messages');
  if (messages.length === 0) throw new BadRequest('messages must not be empty.', 'messages');
  let tokens = TOKENS_FOR_REPLY;
  let question = '';
  let lastRole = '';
  messages.forEach((entry, index) => {
    const path = `messages[${index}]`;
    const message = entry as Message | null;
    const role = message?.['role'];
    if (message === null || typeof role !== 'string' || !ROLES.includes(role)) {
      throw new BadRequest(`${path}.role must be one of ${ROLES.join(', ')}.`, `${path}.role`);
    }
    const { text, images } = textAndImages(message['content'], path);
    tokens +=
      TOKENS_PER_MESSAGE + countTokens(role) + countTokens(text) + images * TOKENS_PER_IMAGE;
    if (typeof message['name'] === 'string') tokens += 1 + countTokens(message['name']);
    if (message['tool_calls'] !== undefined)
      tokens += countTokens(JSON.stringify(message['tool_calls']));
    if (role === 'user') question = text;
    lastRole = role;
  });
  if (input.has('tools')) tokens += countTokens(JSON.stringify(input.list('tools')));
  return { question, answersTool: lastRole === 'tool' || lastRole === 'function', tokens };
}
