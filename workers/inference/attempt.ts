import type {
  Provider,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from './providers/provider.ts';
import { failureOfErrorObject, type UpstreamFailure } from './providers/upstream-error.ts';
import { isObject } from './usage.ts';

type JsonObject = Record<string, unknown>;

/** A call failed before anything of its answer was used, so it may be made again. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure) {
    super(failure.detail);
    this.name = 'UpstreamError';
    this.failure = failure;
  }
}

export interface WholeAnswer {
  text: string;
  parsed: JsonObject;
  joules: number | undefined;
}

/** What a stream says after its first payload was good. */
export interface StreamEvents {
  payload(text: string, chunk: JsonObject): void;
  end(clean: boolean, joules: number | undefined): void;
  failure(failure: UpstreamFailure): void;
}

export interface Attempt<T> {
  /** Resolves with the whole answer, or once a stream has begun. Rejects with UpstreamError. */
  opened: Promise<T>;
  call: UpstreamCall;
}

/** One call for a whole answer. An answer that is no JSON object, or holds an error, is a failure. */
export function callForAnswer(provider: Provider, request: UpstreamRequest): Attempt<WholeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<WholeAnswer>();
  const fail = (failure: UpstreamFailure): void => reject(new UpstreamError(failure));
  const sink: UpstreamSink = {
    onAnswer(raw, joules) {
      const text = raw.trim();
      const parsed = parseObject(text);
      if (parsed === undefined)
        fail({ kind: 'malformed', detail: 'the answer is not a JSON object' });
      else if (isTruthy(parsed['error'])) fail(failureOfErrorObject(parsed['error']));
      else resolve({ text, parsed, joules });
    },
    onPayload: () => fail({ kind: 'malformed', detail: 'a stream was not asked for' }),
    onEnd: () => fail({ kind: 'malformed', detail: 'the answer is empty' }),
    onFailure: fail,
  };
  return { opened: promise, call: provider.call(request, sink) };
}

/**
 * One call for a stream. It counts as open with its first payload that is not an error: until then the client has seen
 * nothing and the call may be made again, so an error inside an HTTP 200 is caught here.
 */
export function callForStream(
  provider: Provider,
  request: UpstreamRequest,
  events: StreamEvents,
): Attempt<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open = false;
  const fail = (failure: UpstreamFailure): void => {
    if (open) events.failure(failure);
    else reject(new UpstreamError(failure));
  };
  const sink: UpstreamSink = {
    onAnswer(text) {
      const error = parseObject(text.trim())?.['error'];
      if (isTruthy(error)) fail(failureOfErrorObject(error));
      else fail({ kind: 'malformed', detail: 'a whole answer came where a stream was asked for' });
    },
    onPayload(text) {
      const chunk = parseObject(text);
      if (chunk === undefined)
        return fail({ kind: 'malformed', detail: 'a stream frame is not a JSON object' });
      if (isTruthy(chunk['error'])) return fail(failureOfErrorObject(chunk['error']));
      if (!open) {
        open = true;
        resolve();
      }
      events.payload(text, chunk);
    },
    onEnd(clean, joules) {
      if (open) events.end(clean, joules);
      else fail({ kind: 'malformed', detail: 'the stream ended before its first frame' });
    },
    onFailure: fail,
  };
  return { opened: promise, call: provider.call(request, sink) };
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? parsed : undefined;
  } catch {
    // Said by the caller in its own words: the text is not for the log.
    return undefined;
  }
}

/** Some servers write `"error": null` or `""` on good answers. */
function isTruthy(value: unknown): boolean {
  return Boolean(value);
}
