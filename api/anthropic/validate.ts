import { Compile } from 'typebox/compile';
import { invalidParam } from '#shared/kernel/errors.ts';
import { mayRound, parseExactly } from '#shared/kernel/exact-json.ts';
import { findFlaw } from '#shared/kernel/flaw.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { chatOfMessage, isRunByCaller } from '#shared/dialects/chat-of-message.ts';
import { caseCheckOf, likenessOf } from '#api/openai/letter-case.ts';
import type { ChatRequest } from '#api/openai/requests.ts';
import type { JsonBody } from '#api/openai/parse-json.ts';
import { refusal, validateChat } from '#api/openai/validate.ts';
import { CLIENT_TOOL, CountBody, MessageBody, type CountRequest } from './requests.ts';

const message = Compile(MessageBody);
const count = Compile(CountBody);
const checkCase = { message: caseCheckOf(MessageBody), count: caseCheckOf(CountBody) };

/** A request for a message, and the chat that it is from here on. */
export interface AskedMessage {
  body: CountRequest;
  chat: ChatRequest;
  /** The types of the tools that are left out: Anthropic's servers run them, or its models alone know their rules. */
  ignored: string[];
}

/**
 * Validates a request for a message and translates it. What passes through it untouched is held against the rules of chats.
 * @param counts nothing is to be generated: only what it would read is to be counted
 * @throws Fault `invalid_<param>` with the dotted path
 */
export function validateMessage({ value: body, text }: JsonBody, counts = false): AskedMessage {
  if (counts) {
    if (!count.Check(body)) throw refusal(CountBody, body);
    checkCase.count(body);
  } else {
    if (!message.Check(body)) throw refusal(MessageBody, body);
    checkCase.message(body);
  }
  checkTools(body);
  checkAnswers(body);
  const chat = chatOfMessage(mayRound(text) ? withInputs(body, text) : body);
  return { body, chat: validateChat(chat), ignored: ignoredIn(body) };
}

/** The request with the inputs of its calls as they were written: they go on as text, and may hold ids of 19 digits. */
function withInputs(body: CountRequest, text: string): JsonObject {
  const written = parseExactly(text) as JsonObject;
  const messages = listOf(body.messages).map((turn, at) => {
    const { content } = listOf(written['messages'])[at] as JsonObject;
    const blocks = listOf((turn as JsonObject)['content']).map((block, place) =>
      isObject(block) && block['type'] === 'tool_use'
        ? { ...block, input: (listOf(content)[place] as JsonObject)['input'] }
        : block,
    );
    return blocks.length === 0 ? turn : { ...(turn as JsonObject), content: blocks };
  });
  return { ...body, messages };
}

/** Tools that the caller runs need more than those that are left out. */
function checkTools(body: CountRequest): void {
  for (const [at, tool] of (body.tools ?? []).entries()) {
    const flaw = isRunByCaller(tool) ? findFlaw(CLIENT_TOOL, tool, ['tools', at]) : null;
    if (flaw !== null) throw refusal(MessageBody, body, flaw);
  }
}

function ignoredIn({ tools }: CountRequest): string[] {
  const ignored = (tools ?? []).filter((tool) => !isRunByCaller(tool));
  return [...new Set(ignored.map(({ type }) => String(type)))];
}

/** One request has one answer. */
function checkAnswers(body: object): void {
  for (const [name, value] of Object.entries(body)) {
    if (likenessOf(name) === 'n' && value !== null && value !== 1)
      throw invalidParam('n', '`n` is not offered: a message is one answer.');
  }
}
