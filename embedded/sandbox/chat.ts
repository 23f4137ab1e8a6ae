import { almanacAt } from './almanac.ts';
import { writeChoice } from './choice.ts';
import { readChatPrompt } from './chat-prompt.ts';
import { type Delta, type DeltaEnd, Rounds, textDeltas, toolDeltas } from './deltas.ts';
import { EventStream } from './event-stream.ts';
import type { Input } from './input.ts';
import { type Alternative, likeliest, LOGPROB } from './logprobs.ts';
import { hashOf, type Random, seededRandom } from './random.ts';
import type { Reply } from './reply.ts';
import { readTextRequest, type TextRequest } from './text-request.ts';
import { type Piece, piecesOf } from './tokens.ts';
import { chooseTools, structuredAnswer, type ToolCall } from './tool-choice.ts';
import { usageOf } from './usage.ts';

export interface ChatRequest extends TextRequest {
  promptTokens: number;
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
    tools: chooseTools(input, prompt),
    structured: structuredAnswer(input),
  };
}

/** What one choice of the answer says, piece by piece. */
export function chatDeltas(
  request: ChatRequest,
  index: number,
  say: string | undefined,
): Generator<Delta, DeltaEnd> {
  const random = seededRandom(hashOf(`${request.seed}/${index}`));
  const calls = request.tools(random);
  if (calls.length > 0 && say === undefined) return toolDeltas(calls, request.maxTokens);
  const decided = say ?? request.structured(random);
  const source =
    decided === undefined ? almanacAt(request.place + index, request.goesOn) : piecesOf(decided);
  return textDeltas(writeChoice(source, request));
}

const spelled = ({ text, logprob }: Alternative): object => ({
  token: text,
  logprob,
  bytes: [...Buffer.from(text)],
});

function logprobsOf(steps: readonly Piece[], top: number): object {
  const content = steps.map(({ text }) => ({
    ...spelled({ text, logprob: LOGPROB }),
    top_logprobs: likeliest(text, top).map(spelled),
  }));
  return { content, refusal: null };
}

function deltaJson(delta: Delta, top: number | undefined): string {
  if (delta.kind === 'text') {
    const detail = top === undefined ? null : logprobsOf(delta.steps, top);
    return `"delta":{"content":${JSON.stringify(delta.text)}},"logprobs":${JSON.stringify(detail)}`;
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
  const rounds = new Rounds(indexes.map((index) => chatDeltas(request, index, fault.say)));
  for (let round = rounds.next(); round.length > 0 && !stream.over; round = rounds.next()) {
    const turn = reply.pacer.turn();
    if (turn !== undefined) await turn;
    for (const { index, step } of round) {
      const wait = chunk(index, deltaJson(step, request.topLogprobs), null);
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
  top: number | undefined,
  unfinished: boolean,
) {
  let content = '';
  const steps: Piece[] = [];
  const calls: { id: string; type: 'function'; function: { name: string; arguments: string } }[] =
    [];
  let next = deltas.next();
  for (; next.done !== true; next = deltas.next()) {
    const delta = next.value;
    if (delta.kind === 'text') {
      content += delta.text;
      if (top !== undefined) steps.push(...delta.steps);
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
    logprobs: top === undefined || calls.length > 0 ? null : logprobsOf(steps, top),
    finish_reason: unfinished ? null : next.value.finish,
  };
  return { choice, end: next.value };
}

/** A whole chat answer. */
export function wholeChat(
  request: ChatRequest,
  identity: AnswerIdentity,
  fault: Reply['fault'],
): object {
  const count = fault['single-choice'] === true ? 1 : request.choices;
  const parts = Array.from({ length: count }, (_, index) =>
    assemble(
      chatDeltas(request, index, fault.say),
      index,
      request.topLogprobs,
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
