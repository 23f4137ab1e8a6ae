import { isObject, type JsonObject, listOf, textOf } from '#shared/kernel/json-object.ts';

/** Items of a response, and the answer of a chat server as such. */

export type ItemKind = 'reasoning' | 'message' | 'function_call' | 'custom_tool_call';

const ID_PREFIX: Record<ItemKind, string> = {
  reasoning: 'rs_',
  message: 'msg_',
  function_call: 'fc_',
  custom_tool_call: 'ctc_',
};

/** The id of an item, by its place in the output. */
export function itemIdOf(kind: ItemKind, requestId: string, index: number): string {
  return `${requestId.replace(/^req_/, ID_PREFIX[kind])}_${index}`;
}

export const reasoningPart = (text: string): JsonObject => ({ type: 'reasoning_text', text });
export const summaryPart = (text: string): JsonObject => ({ type: 'summary_text', text });
export const refusalPart = (refusal: string): JsonObject => ({ type: 'refusal', refusal });
export const textPart = (text: string, logprobs: readonly unknown[]): JsonObject => ({
  type: 'output_text',
  text,
  annotations: [],
  logprobs,
});

/** What servers call what a model thinks, in a message or a delta; some have it under several of these names. */
const REASONING_NAMES = ['reasoning_content', 'reasoning', 'thinking'] as const;

/** The reasoning in a message or a delta. */
export function reasoningIn(part: JsonObject): string {
  for (const name of REASONING_NAMES) {
    const text = textOf(part[name]);
    if (text !== undefined && text !== '') return text;
  }
  return '';
}

export function textIn(part: JsonObject, field: 'content' | 'refusal'): string {
  return textOf(part[field]) ?? '';
}

/** Calls in a message or a delta; what is none is passed over. */
export function callsIn(part: JsonObject): JsonObject[] {
  return listOf(part['tool_calls']).filter(isObject);
}

/** What a call calls, and with what: of a delta a piece of it. */
export function calledBy(call: JsonObject): {
  kind: 'function_call' | 'custom_tool_call';
  callId: string;
  name: string;
  input: string;
} {
  const { function: ofFunction, custom } = call;
  const isCustom = !isObject(ofFunction) && isObject(custom);
  const called = isCustom ? custom : ofFunction;
  const { name, arguments: args, input } = isObject(called) ? called : {};
  return {
    kind: isCustom ? 'custom_tool_call' : 'function_call',
    callId: textOf(call['id']) ?? '',
    name: textOf(name) ?? '',
    input: textOf(isCustom ? input : args) ?? '',
  };
}

/** The log probabilities of the tokens of a choice, which have one shape in both interfaces. */
export function logprobsIn(choice: JsonObject): readonly unknown[] {
  const { logprobs } = choice;
  return isObject(logprobs) ? listOf(logprobs['content']) : [];
}

/** A finish reason that is an end before the answer's own. */
export function cutShortBy(reason: unknown): 'max_output_tokens' | 'content_filter' | undefined {
  if (reason === 'length') return 'max_output_tokens';
  return reason === 'content_filter' ? reason : undefined;
}
