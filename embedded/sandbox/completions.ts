import { almanacAt } from './almanac.ts';
import type { AnswerIdentity } from './chat.ts';
import { type ChoiceEnd, type ChoicePart, writeChoice } from './choice.ts';
import { Rounds } from './deltas.ts';
import { EventStream } from './event-stream.ts';
import { BadRequest, type Input } from './input.ts';
import { likeliest, LOGPROB } from './logprobs.ts';
import type { Reply } from './reply.ts';
import { isTokenArray, readTextRequest, type TextRequest } from './text-request.ts';
import { countTokens, type Piece, piecesOf, textOf } from './tokens.ts';
import { usageOf } from './usage.ts';

interface Prompt {
  text: string;
  tokens: number;
}

interface CompletionRequest extends TextRequest {
  prompts: readonly Prompt[];
  echo: boolean;
}

/** More prompts than any client sends in one request; each is an answer of its own. */
const PROMPTS_MAX = 128;

function readPrompt(value: unknown): Prompt {
  if (typeof value === 'string') return { text: value, tokens: countTokens(value) };
  if (isTokenArray(value)) return { text: textOf(value), tokens: value.length };
  throw new BadRequest('prompt must be a text, token ids, or an array of either.', 'prompt');
}

function readPrompts(value: unknown): Prompt[] {
  if (!Array.isArray(value) || isTokenArray(value)) return [readPrompt(value ?? '')];
  if (value.length === 0 || value.length > PROMPTS_MAX) {
    throw new BadRequest(`prompt must have 1 to ${PROMPTS_MAX} entries.`, 'prompt');
  }
  return value.map(readPrompt);
}

export function readCompletionRequest(input: Input): CompletionRequest {
  const prompts = readPrompts(input.body['prompt']);
  const logprobs = input.number('logprobs', { low: 0, high: 20, whole: true });
  return {
    ...readTextRequest(input, prompts.at(-1)?.text ?? '', logprobs, { tokensMin: 0 }),
    prompts,
    echo: input.flag('echo'),
  };
}

function promptOf(request: CompletionRequest, index: number): Prompt {
  return request.prompts[Math.floor(index / request.choices)] as Prompt;
}

function* completionParts(
  request: CompletionRequest,
  index: number,
  say: string | undefined,
): Generator<ChoicePart, ChoiceEnd> {
  if (request.echo) yield { text: promptOf(request, index).text, steps: [] };
  const source =
    say === undefined ? almanacAt(request.place + index, request.goesOn) : piecesOf(say);
  return yield* writeChoice(source, request);
}

/** The parallel arrays of the legacy protocol. `offset` is where the first step begins in the answer. */
function logprobsOf(steps: readonly Piece[], top: number, offset: number): object {
  let position = offset;
  return {
    tokens: steps.map((step) => step.text),
    token_logprobs: steps.map(() => LOGPROB),
    top_logprobs: steps.map((step) =>
      Object.fromEntries(likeliest(step.text, top).map(({ text, logprob }) => [text, logprob])),
    ),
    text_offset: steps.map((step) => {
      const start = position;
      position += step.text.length;
      return start;
    }),
  };
}

function usageTotals(request: CompletionRequest, ends: readonly ChoiceEnd[]): [number, number] {
  return [
    request.prompts.reduce((sum, prompt) => sum + prompt.tokens, 0),
    ends.reduce((sum, end) => sum + end.tokens, 0),
  ];
}

function indexesOf(request: CompletionRequest, fault: Reply['fault']): number[] {
  const count = fault['single-choice'] === true ? 1 : request.choices * request.prompts.length;
  return Array.from({ length: count }, (_, index) => index);
}

/** Streams a legacy completion. */
export async function streamCompletion(
  request: CompletionRequest,
  identity: AnswerIdentity,
  reply: Reply,
): Promise<void> {
  const { fault } = reply;
  const stream = new EventStream(reply);
  const head =
    `{"id":"${identity.id}","object":"text_completion","created":${identity.created},` +
    `"model":${JSON.stringify(request.model)},"system_fingerprint":"${identity.fingerprint}","choices":[`;
  const tail = request.includeUsage && fault.usage !== 'none' ? '}],"usage":null}' : '}]}';
  const indexes = indexesOf(request, fault);
  const offsets = indexes.map(() => 0);
  const chunk = (
    index: number,
    part: ChoicePart,
    finish: string | null,
  ): Promise<void> | undefined => {
    const offset = offsets[index] ?? 0;
    offsets[index] = offset + part.text.length;
    const { topLogprobs: top } = request;
    const detail = top === undefined ? null : logprobsOf(part.steps, top, offset);
    return stream.frame(
      `${head}{"text":${JSON.stringify(part.text)},"index":${index},` +
        `"logprobs":${JSON.stringify(detail)},"finish_reason":${JSON.stringify(finish)}${tail}`,
    );
  };
  const rounds = new Rounds(indexes.map((index) => completionParts(request, index, fault.say)));
  for (let round = rounds.next(); round.length > 0 && !stream.over; round = rounds.next()) {
    const turn = reply.pacer.turn();
    if (turn !== undefined) await turn;
    for (const { index, step } of round) {
      const wait = chunk(index, step, null);
      if (wait !== undefined) await wait;
    }
  }
  if (stream.over) return;
  if (fault['no-finish'] !== true) {
    for (const index of indexes) {
      await chunk(index, { text: '', steps: [] }, rounds.ends[index]?.finish ?? null);
    }
  }
  const usage = usageOf(fault, ...usageTotals(request, rounds.ends));
  if (request.includeUsage && usage !== undefined) {
    await stream.frame(`${head}],"usage":${JSON.stringify(usage)}}`);
  }
  await stream.done();
}

/** A whole legacy completion. */
export function wholeCompletion(
  request: CompletionRequest,
  identity: AnswerIdentity,
  fault: Reply['fault'],
): object {
  const { topLogprobs: top } = request;
  const ends: ChoiceEnd[] = [];
  const choices = indexesOf(request, fault).map((index) => {
    const parts = completionParts(request, index, fault.say);
    let text = '';
    const steps: Piece[] = [];
    let next = parts.next();
    for (; next.done !== true; next = parts.next()) {
      text += next.value.text;
      steps.push(...next.value.steps);
    }
    ends.push(next.value);
    const offset = request.echo ? promptOf(request, index).text.length : 0;
    return {
      text,
      index,
      logprobs: top === undefined ? null : logprobsOf(steps, top, offset),
      finish_reason: fault['no-finish'] === true ? null : next.value.finish,
    };
  });
  const usage = usageOf(fault, ...usageTotals(request, ends));
  return {
    id: identity.id,
    object: 'text_completion',
    created: identity.created,
    model: request.model,
    choices,
    ...(usage === undefined ? {} : { usage }),
    system_fingerprint: identity.fingerprint,
  };
}
