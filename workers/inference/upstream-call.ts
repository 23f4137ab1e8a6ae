import type { Route } from '#shared/kernel/inference.ts';
import { dropMembers, setMember } from '#shared/kernel/json-text.ts';
import type {
  Provider,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from './providers/provider.ts';
import { isErrorBody } from './providers/error-body.ts';
import {
  failureOfErrorBody,
  ownFault,
  UpstreamError,
  type UpstreamFailure,
} from './providers/upstream-failure.ts';
import { isFinished } from './finish-reason.ts';
import { beginsMessage, isWholeMessage } from './messages/native.ts';
import { beginsResponse, failureIn, isWholeResponse } from './responses/native.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { LONG } from '#shared/kernel/turns.ts';
import { isDense, parseEmbeddings, TOO_DENSE, withoutLogprobs } from './long-answers.ts';
import type { Relay } from './stream-relay.ts';
import { withArgumentsAsText } from './tool-calls.ts';

export interface WholeAnswer {
  text: string;
  parsed: JsonObject;
  joules: number | undefined;
  /** Its server says that every choice came to its end. */
  isFinished: boolean;
  /** Of what is made of `text`, which is a long answer without its log probabilities, the whole. */
  restored: (text: string) => string;
}

/** A stream that has begun. */
export interface OpenStream {
  /** Resolves when nothing more will come of it, with the failure that broke it off, if any. Never rejects. */
  ended: Promise<StreamEnd>;
}

type StreamEnd =
  | { failure: UpstreamFailure }
  /** `clean` is false when the connection closed without `[DONE]`. `joules`: measured energy in a header. */
  | { failure: null; clean: boolean; joules: number | undefined };

/** A call that is under way. */
export interface StartedCall<T> {
  /** Resolves with the whole answer, or once a stream has begun. Rejects with UpstreamError. */
  opened: Promise<T>;
  call: UpstreamCall;
}

/** One call for a whole answer. One that is no JSON object, holds an error, or holds no answer, is a failure. */
export function callForAnswer(
  provider: Provider,
  request: UpstreamRequest,
): StartedCall<WholeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
  const fail = (failure: UpstreamFailure): void => reject(new UpstreamError(failure));
  const take = ({ read, restored }: ReadAnswer, raw: string, joules: number | undefined): void => {
    if (read === undefined) {
      const what = SSE.test(raw) ? 'a stream, which was not asked for' : 'not a JSON object';
      return fail({ kind: 'malformed', detail: `the answer is ${what}` });
    }
    const { text, parsed } = withUsualCalls(withoutDecoys(read));
    const error = errorIn(parsed);
    if (error !== undefined) return fail(failureOfErrorBody(error));
    const member = MEMBERS[request.route];
    const items = parsed[member];
    // A response or a message that was to be short may end before its first item.
    const mayBeEmpty = member === 'output' || member === 'content';
    const isEmpty = !Array.isArray(items) || (items.length === 0 && !mayBeEmpty);
    if (isEmpty) return fail({ kind: 'malformed', detail: `the answer has no ${member}` });
    resolve({ text, parsed, joules, isFinished: IS_WHOLE[member](parsed), restored });
  };
  const sink: UpstreamSink = {
    onAnswer(raw, joules) {
      if (raw.length <= LONG)
        return take({ read: parseObject(raw.trim()), restored: asIs }, raw, joules);
      void readLong(raw.trim(), request.route)
        .then((read) => take(read, raw, joules))
        .catch((error: unknown) => fail(failureOf(error)));
    },
    onPayload: () => fail({ kind: 'malformed', detail: 'a stream was not asked for' }),
    onEnd: () => fail({ kind: 'malformed', detail: 'the answer is empty' }),
    onFailure: fail,
  };
  const call = provider.call(
    request,
    guarded(sink, (error) => {
      fail(ownFault(error));
      call.abort();
    }),
  );
  return { opened: promise, call };
}

/** What reads the payloads of a stream: as they came, where that is enough, else parsed. */
export type PayloadReader = Pick<Relay, 'acceptPlain' | 'accept'>;

/**
 * One call for a stream, whose payloads go to `reader`. It counts as open with its first payload that has a choice:
 * until then the client has seen nothing and the call may be made again, so an error inside an HTTP 200 is caught here.
 * A payload on which it throws ends the stream: with the failure of an UpstreamError, else with a fault of our own.
 */
export function callForStream(
  provider: Provider,
  request: UpstreamRequest,
  reader: PayloadReader,
): StartedCall<OpenStream> {
  const { promise: opened, resolve: open, reject } = Promise.withResolvers<OpenStream>();
  const { promise: ended, resolve: end } = Promise.withResolvers<StreamEnd>();
  // What a failed call goes on to say must not reach the client: another call may be answering already.
  let state: 'waiting' | 'open' | 'over' = 'waiting';
  const fail = (failure: UpstreamFailure): void => {
    if (state === 'open') end({ failure });
    else reject(new UpstreamError(failure));
    state = 'over';
  };
  const sink: UpstreamSink = {
    onAnswer(text, joules) {
      if (isDense(text)) return fail(TOO_DENSE);
      const parsed = parseObject(text.trim())?.parsed;
      if (parsed !== undefined && isErrorBody(parsed)) return fail(failureOfErrorBody(parsed));
      const isAnswer = Array.isArray(parsed?.['choices']) && parsed['choices'].every(isObject);
      if (!isAnswer)
        return fail({
          kind: 'malformed',
          detail: 'what came where a stream was asked for is none',
        });
      // A server that does not stream: its answer is a stream of one chunk.
      this.onPayload(text.trim());
      this.onEnd(true, joules);
    },
    onPayload(text) {
      if (state === 'over') return;
      if (state === 'open' && reader.acceptPlain?.(text) === true) return;
      if (isDense(text)) return fail(TOO_DENSE);
      const read = parseObject(text);
      if (read === undefined)
        return fail({ kind: 'malformed', detail: 'a stream frame is not a JSON object' });
      const { text: payload, parsed: chunk } = withoutDecoys(read);
      const error = errorIn(chunk);
      if (error !== undefined) return fail(failureOfErrorBody(error));
      if (state === 'waiting' && begins(chunk)) {
        state = 'open';
        open({ ended });
      }
      reader.accept(payload, chunk);
    },
    onEnd(clean, joules) {
      if (state === 'open') end({ failure: null, clean, joules });
      else fail({ kind: 'malformed', detail: 'the stream ended before its first choice' });
    },
    onFailure: fail,
  };
  const call = provider.call(
    request,
    guarded(sink, (error) => {
      fail(failureOf(error));
      call.abort();
    }),
  );
  return { opened, call };
}

/**
 * Hears what an upstream says, and hands over what is thrown then: a provider would take it for a failure of its connection,
 * or have told its end already and say nothing more.
 */
function guarded(sink: UpstreamSink, onThrown: (error: unknown) => void): UpstreamSink {
  const guard = (hear: () => void): void => {
    try {
      hear();
    } catch (error) {
      onThrown(error);
    }
  };
  return {
    onAnswer: (text, joules) => guard(() => sink.onAnswer(text, joules)),
    onPayload: (text) => guard(() => sink.onPayload(text)),
    onEnd: (clean, joules) => guard(() => sink.onEnd(clean, joules)),
    onFailure: (failure) => sink.onFailure(failure),
  };
}

/** How a stream of events begins. */
const SSE = /^\s*(?:data|event|id|retry)?:/;

/** A whole answer as client code reads it: with the arguments of its calls as text. */
function withUsualCalls(read: ReadObject): ReadObject {
  const choices = listOf(read.parsed['choices']);
  const usual = choices.map((choice) => {
    if (!isObject(choice) || !isObject(choice['message'])) return choice;
    const message = withArgumentsAsText(choice['message']);
    return message === choice['message'] ? choice : { ...choice, message };
  });
  if (usual.every((choice, at) => choice === choices[at])) return read;
  const text = setMember(read.text, 'choices', JSON.stringify(usual));
  return { text, parsed: { ...read.parsed, choices: usual } };
}

/** A JSON object, and the text that it was read from. */
interface ReadObject {
  text: string;
  parsed: JsonObject;
}

/**
 * Without what clients would take for something else: a receipt of another gateway of this kind, or of a server that means
 * harm, and an error of nothing, on which they throw.
 */
function withoutDecoys(read: ReadObject): ReadObject {
  const isErrorOfNothing = isObject(read.parsed['error']) && !isErrorBody(read.parsed);
  if (read.parsed['receipt'] === undefined && !isErrorOfNothing) return read;
  const decoys = isErrorOfNothing ? ['receipt', 'error'] : ['receipt'];
  const parsed = { ...read.parsed };
  for (const decoy of decoys) delete parsed[decoy];
  return { text: dropMembers(read.text, decoys), parsed };
}

function parseObject(text: string): ReadObject | undefined {
  try {
    return objectOf(text, JSON.parse(text));
  } catch {
    // Said by the caller in its own words: the text is not for the log.
    return undefined;
  }
}

/** A whole answer as it was read: undefined where it is no object. */
interface ReadAnswer extends Pick<WholeAnswer, 'restored'> {
  read: ReadObject | undefined;
}

const asIs = (text: string): string => text;

/**
 * Reads a long answer in turns, and none that takes others' time all the same.
 * @throws UpstreamError
 */
async function readLong(text: string, route: Route): Promise<ReadAnswer> {
  try {
    if (route === 'embeddings')
      return { read: objectOf(text, await parseEmbeddings(text)), restored: asIs };
    const { text: rest, restored } = await withoutLogprobs(text);
    if (isDense(rest)) throw new UpstreamError(TOO_DENSE);
    return { read: parseObject(rest), restored };
  } catch (error) {
    if (error instanceof UpstreamError) throw error;
    return { read: undefined, restored: asIs };
  }
}

function failureOf(error: unknown): UpstreamFailure {
  return error instanceof UpstreamError ? error.failure : ownFault(error);
}

const objectOf = (text: string, parsed: unknown): ReadObject | undefined =>
  isObject(parsed) ? { text, parsed } : undefined;

/** The member of a whole answer that holds what was asked for. */
const MEMBERS = {
  'chat.completions': 'choices',
  completions: 'choices',
  embeddings: 'data',
  responses: 'output',
  messages: 'content',
} as const satisfies Readonly<Record<Route, string>>;

/** Whether its server says that an answer is whole, by that member. */
const IS_WHOLE: Readonly<Record<(typeof MEMBERS)[Route], (answer: JsonObject) => boolean>> = {
  choices: ({ choices }) => listOf(choices).every(isFinished),
  data: () => true,
  output: isWholeResponse,
  content: isWholeMessage,
};

/** The error that an answer or a payload of a stream is, if it is one. */
function errorIn(parsed: JsonObject): JsonObject | undefined {
  return isErrorBody(parsed) ? parsed : failureIn(parsed);
}

/** Whether a payload has some of the answer. */
function begins(chunk: JsonObject): boolean {
  const { choices } = chunk;
  if (Array.isArray(choices)) return choices.length > 0;
  return beginsResponse(chunk) || beginsMessage(chunk);
}
