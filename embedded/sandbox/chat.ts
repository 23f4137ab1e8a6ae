import { fixedText, writeChoice } from './choice.ts';
import { readChatPrompt } from './chat-prompt.ts';
import { type Delta, type DeltaEnd, Rounds, textDeltas, toolDeltas } from './deltas.ts';
import { EventStream } from './event-stream.ts';
import type { Input } from './input.ts';
import type { TextModel } from './ngram.ts';
import { hashOf, type Random, seededRandom } from './random.ts';
import type { Reply } from './reply.ts';
import { type Alternative, sampleText, type TokenStep } from './sampling.ts';
import { readTextRequest, type TextRequest } from './text-request.ts';
import { chooseTools, structuredAnswer, type ToolCall } from './tool-choice.ts';
import { usageOf } from './usage.ts';

export interface ChatRequest extends TextRequest {
  promptTokens: number;
  logprobs: boolean;
  tools: (random: Random) => ToolCall[];
  structured: (random: Random) => string | undefined;
}

/** The fields that all chunks of one answer share. */
export interface AnswerIdentity {
  id: string;
  created: number;
  fingerprint: string;
}

export function readChatRequest(input: Input): ChatRequest {
  const prompt = readChatPrompt(input);
  const logprobs = input.flag('logprobs');
  const top = input.number('top_logprobs', { low: 0, high: 20, whole: true }, 0);
  return {
    ...readTextRequest(input, prompt.question, logprobs ? top : undefined),
    promptTokens: prompt.tokens,
    logprobs,
    tools: chooseTools(input, prompt),
    structured: structuredAnswer(input),
  };
}

/** What one choice of the answer says, piece by piece. */
export function chatDeltas(
  request: ChatRequest,
  index: number,
  model: TextModel,
  say: string | undefined,
): Generator<Delta, DeltaEnd> {
  const random = seededRandom(hashOf(`${request.seed}/${index}`));
  const calls = request.tools(random);
  if (calls.length > 0 && say === undefined) return toolDeltas(calls, request.maxTokens);
  const decided = say ?? request.structured(random);
  const source =
    decided === undefined ? sampleText(model, request.settings, random) : fixedText(decided);
  return textDeltas(writeChoice(source, request));
}

const spelled = ({ text, logprob }: Alternative): object => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
});

function logprobsOf(steps: readonly TokenStep[]): object[] {
  return steps.map((step) => ({ ...spelled(step), top_logprobs: step.top.map(spelled) }));
}

function deltaJson(delta: Delta, logprobs: boolean): string {
  if (delta.kind === 'text') {
    const detail = logprobs
      ? JSON.stringify({ content: logprobsOf(delta.steps), refusal: null })
      : 'null';
    return `"delta":{"content":${JSON.stringify(delta.text)}},"logprobs":${detail}`;
  }
  const call =
    delta.kind === 'tool'
      ? {
          index: delta.position,
          id: delta.call.id,
          type: 'function',
          function: { name: delta.call.name, arguments: '' },
        }
      : { index: delta.position, function: { arguments: delta.text } };
  return `"delta":{"tool_calls":[${JSON.stringify(call)}]},"logprobs":null`;
}

function total(ends: readonly DeltaEnd[]): number {
  return ends.reduce((sum, end) => sum + end.tokens, 0);
}

/** Streams a chat answer. */
export async function streamChat(
  request: ChatRequest,
  model: TextModel,
  identity: AnswerIdentity,
  reply: Reply,
): Promise<void> {
  const { fault } = reply;
  const stream = new EventStream(reply);
  const head =
    `{"id":"${identity.id}","object":"chat.completion.chunk","created":${identity.created},` +
    `"model":${JSON.stringify(request.model)},"system_fingerprint":"${identity.fingerprint}","choices":[`;
  const usage = request.includeUsage && fault.usage !== 'none' ? ',"usage":null}' : '}';
  const chunk = (index: number, middle: string, finish: string | null): Promise<void> | undefined =>
    stream.frame(
      `${head}{"index":${index},${middle},"finish_reason":${JSON.stringify(finish)}}]${usage}`,
    );

  const count = fault['single-choice'] === true ? 1 : request.choices;
  const indexes = Array.from({ length: count }, (_, index) => index);
  for (const index of indexes) {
    await chunk(
      index,
      '"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null',
      null,
    );
  }
  const rounds = new Rounds(indexes.map((index) => chatDeltas(request, index, model, fault.say)));
  for (let round = rounds.next(); round.length > 0 && !stream.over; round = rounds.next()) {
    const turn = reply.pacer.turn();
    if (turn !== undefined) await turn;
    for (const { index, step } of round) {
      const wait = chunk(index, deltaJson(step, request.logprobs), null);
      if (wait !== undefined) await wait;
    }
  }
  if (stream.over) return;
  if (fault['no-finish'] !== true) {
    for (const index of indexes) {
      await chunk(index, '"delta":{},"logprobs":null', rounds.ends[index]?.finish ?? null);
    }
  }
  const used = usageOf(fault, request.promptTokens, total(rounds.ends));
  if (request.includeUsage && used !== undefined) {
    await stream.frame(`${head}],"usage":${JSON.stringify(used)}}`);
  }
  await stream.done();
}

/** One choice of a whole answer, put together from its deltas. */
function assemble(
  deltas: Generator<Delta, DeltaEnd>,
  index: number,
  logprobs: boolean,
  unfinished: boolean,
) {
  let content = '';
  const steps: TokenStep[] = [];
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] =
    [];
  let next = deltas.next();
  for (; next.done !== true; next = deltas.next()) {
    const delta = next.value;
    if (delta.kind === 'text') {
      content += delta.text;
      if (logprobs) steps.push(...delta.steps);
    } else if (delta.kind === 'tool') {
      const { id, name } = delta.call;
      calls.push({ id, type: 'function', function: { name, arguments: '' } });
    } else {
      (calls[delta.position] as (typeof calls)[number]).function.arguments += delta.text;
    }
  }
  const message = { role: 'assistant', content: calls.length > 0 ? null : content, refusal: null };
  const choice = {
    index,
    message: calls.length > 0 ? { ...message, tool_calls: calls } : message,
    logprobs: logprobs && calls.length === 0 ? { content: logprobsOf(steps), refusal: null } : null,
    finish_reason: unfinished ? null : next.value.finish,
  };
  return { choice, end: next.value };
}

/** A whole chat answer. */
export function wholeChat(
  request: ChatRequest,
  model: TextModel,
  identity: AnswerIdentity,
  fault: Reply['fault'],
): object {
  const count = fault['single-choice'] === true ? 1 : request.choices;
  const parts = Array.from({ length: count }, (_, index) =>
    assemble(
      chatDeltas(request, index, model, fault.say),
      index,
      request.logprobs,
      fault['no-finish'] === true,
    ),
  );
  const usage = usageOf(fault, request.promptTokens, total(parts.map((part) => part.end)));
  return {
    id: identity.id,
    object: 'chat.completion',
    created: identity.created,
    model: request.model,
    choices: parts.map((part) => part.choice),
    ...(usage === undefined ? {} : { usage }),
    system_fingerprint: identity.fingerprint,
  };
}
