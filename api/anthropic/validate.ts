import { Compile } from 'typebox/compile';
import { invalidParam } from '#shared/kernel/errors.ts';
import { findFlaw } from '#shared/kernel/flaw.ts';
import { chatOfWritten, isRunByCaller } from '#shared/dialects/chat-of-message.ts';
import { caseCheckOf, likenessOf } from '#api/openai/letter-case.ts';
import type { ChatRequest } from '#api/openai/requests.ts';
import type { JsonBody } from '#api/openai/parse-json.ts';
import { refusal, validateChat } from '#api/openai/validate.ts';
import type { OnlyNative } from '#api/inference/only-native.ts';
import { THREAD } from './error-envelope.ts';
import { onlyInMessages } from './only-native.ts';
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
  /** What of it goes to servers of this interface alone. The chat has its words, and is counted by them, and not sent. */
  only: OnlyNative | undefined;
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
  checkThread(body);
  const chat = chatOfWritten(body, text);
  return {
    body,
    chat: validateChat(chat),
    ignored: ignoredIn(body),
    only: onlyInMessages(body),
  };
}

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

/** Only the newest message stands in a request that goes on with a thread, so its answer would be to another question. */
function checkThread(body: object): void {
  for (const [name, value] of Object.entries(body)) {
    if (likenessOf(name) === THREAD && value !== null)
      throw invalidParam(
        THREAD,
        '`thread` is not offered: send the whole conversation in `messages`.',
      );
  }
}
