import { errnoOf } from '../errno.ts';
import { saysTooLong } from '../error-body.ts';
import { kindOfStatus, ownFault, type UpstreamFailure } from '../upstream-failure.ts';
import { isObject, textOf } from '#shared/kernel/json-object.ts';
import { Untranslatable } from './untranslatable.ts';

const MESSAGE_CHARS_MAX = 500;
/** Providers refuse a wrong credential of ours in the words, and sometimes with the status, of a wrong request. */
const ABOUT_CREDENTIAL = /api[ _-]?key|credential|permission/i;
const UNREADABLE = /^AI_(TypeValidation|JSONParse|InvalidResponseData|EmptyResponseBody|NoContent)/;
/** Error types of Anthropic that come inside a stream, with the status they have outside of one. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
};

/** Anything that a call of the AI SDK throws, or puts into a stream, as a failure. Untrusted: providers' words. */
export function failureOf(error: unknown): UpstreamFailure {
  if (error instanceof Untranslatable) {
    const { message, param } = error;
    return { kind: 'rejected', detail: message, message, param };
  }
  const fields = isObject(error) ? error : {};
  const message = messageIn(error);
  const status = statusIn(fields);
  if (status !== undefined) return failureOfStatus(status, message, fields['responseHeaders']);
  const name = textOf(fields['name']) ?? '';
  // The library's own refusal of a request: a part or a setting that this provider does not have.
  if (name === 'AI_UnsupportedFunctionalityError' || name === 'AI_InvalidPromptError') {
    return { kind: 'rejected', detail: name, message: message.slice(0, MESSAGE_CHARS_MAX) };
  }
  // An answer with a good status that cannot be read is a call error whose cause says so.
  const cause = isObject(fields['cause']) ? (textOf(fields['cause']['name']) ?? '') : '';
  const unreadable = [name, cause].find((one) => UNREADABLE.test(one));
  if (unreadable !== undefined) return { kind: 'malformed', detail: unreadable };
  if (name === 'TimeoutError') return { kind: 'timeout', detail: 'it did not answer in time' };
  // What is thrown before anything is sent says nothing about the server, and callers can bring it about.
  if (isOfComputing(error)) return { ...ownFault(error), isUnsent: true };
  const errno = errnoOf(error);
  const failure: UpstreamFailure = {
    kind: 'connection',
    detail: 'the connection failed',
    message: message.slice(0, MESSAGE_CHARS_MAX),
  };
  return errno === undefined ? failure : { ...failure, errno };
}

/** Words of `fetch` about a connection, whose errors are those of wrong types. */
const OF_FETCH = /^(?:fetch failed|terminated)$/;

/** What no server brings about, but a value that some code cannot take. */
function isOfComputing(error: unknown): boolean {
  if (error instanceof TypeError) return !OF_FETCH.test(error.message) && error.cause === undefined;
  return (
    error instanceof RangeError ||
    error instanceof SyntaxError ||
    error instanceof ReferenceError ||
    (error instanceof DOMException && error.name === 'InvalidCharacterError')
  );
}

function failureOfStatus(status: number, message: string, headers: unknown): UpstreamFailure {
  const kind =
    status === 400 && ABOUT_CREDENTIAL.test(message) ? 'misconfigured' : kindOfStatus(status);
  const failure: UpstreamFailure = {
    kind,
    status,
    detail: 'it failed by itself',
    message: message.slice(0, MESSAGE_CHARS_MAX),
  };
  if (kind === 'rejected' && saysTooLong(message)) failure.code = 'context_length_exceeded';
  const seconds = Number(isObject(headers) ? (headers['retry-after'] ?? Number.NaN) : Number.NaN);
  if (Number.isFinite(seconds) && seconds >= 0) failure.retryAfterMs = seconds * 1_000;
  return failure;
}

/** Of a thrown call error, or of an error object that came in a stream. */
function statusIn(fields: Readonly<Record<string, unknown>>): number | undefined {
  const { statusCode, code, type } = fields;
  for (const value of [statusCode, code, STATUS_OF_TYPE[textOf(type) ?? '']]) {
    if (typeof value === 'number' && value >= 300 && value < 600) return value;
  }
  const inner = fields['error'];
  return isObject(inner) ? statusIn(inner) : undefined;
}

function messageIn(error: unknown): string {
  if (typeof error === 'string') return error;
  if (error instanceof Error) return error.message;
  if (!isObject(error)) return 'unknown error';
  return textOf(error['message']) ?? messageIn(error['error'] ?? 'unknown error');
}
