import { Compile } from 'typebox/compile';
import { invalidParam } from '#shared/kernel/errors.ts';
import { mayRound } from '#shared/kernel/exact-json.ts';
import { findFlaw } from '#shared/kernel/flaw.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { elements, memberText } from '#shared/kernel/json-text.ts';
import { chatOfMessage, type InputOf, isRunByCaller } from '#shared/dialects/chat-of-message.ts';
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
  const mayChange = body.messages.some(hasCalls) && mayRound(text);
  const chat = chatOfMessage(body, mayChange ? inputsIn(body, text) : undefined);
  return { body, chat: validateChat(chat), ignored: ignoredIn(body) };
}

/**
 * The input of each call as it was written: it goes on as text, and may hold ids of 19 digits, which a number of JavaScript
 * would round. Only their own text is looked at, where the request has any that may be rounded.
 */
function inputsIn(body: CountRequest, text: string): InputOf {
  const texts = new Map<JsonObject, string>();
  const all = memberText(text, 'messages')!;
  const places = elements(all);
  for (const [at, turn] of (body.messages as JsonObject[]).entries()) {
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
  return (block) => texts.get(block) ?? JSON.stringify(block['input']);
}

const hasCalls = ({ content }: JsonObject): boolean =>
  listOf(content).filter(isObject).some(isCall);

const isCall = ({ type }: JsonObject): boolean => type === 'tool_use';

/** Tools that the caller runs need more than those that are left out. */
function checkTools(body: CountRequest): void {
  for (const [at, tool] of (body.tools ?? []).entries()) {
    const flaw = isRunByCaller(tool) ? findFlaw(CLIENT_TOOL, tool, ['tools', at]) : null;
    if (flaw !== null) throw refusal(MessageBody, body, flaw);
  }
}

/** As Anthropic names its tools. Only such a name goes on beside the request: any other may be words of the prompt. */
const VERSIONED = /^[a-z_]{1,32}_20\d{6}$/;
const UNVERSIONED = 'other';

function ignoredIn({ tools }: CountRequest): string[] {
  const types = (tools ?? [])
    .filter((tool) => !isRunByCaller(tool))
    .map(({ type }) => String(type));
  return [...new Set(types.map((type) => (VERSIONED.test(type) ? type : UNVERSIONED)))];
}

/** One request has one answer. */
function checkAnswers(body: object): void {
  for (const [name, value] of Object.entries(body)) {
    if (likenessOf(name) === 'n' && value !== null && value !== 1)
      throw invalidParam('n', '`n` is not offered: a message is one answer.');
  }
}
