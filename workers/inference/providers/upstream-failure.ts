import { codeOfParameter } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { type Failure, PROMPT_PARAMS, type Route } from '#shared/kernel/inference.ts';
import { type WireFault, wireFault } from '#shared/lanes/messages.ts';
import { type ErrorBody, readErrorBody } from './error-body.ts';

/**
 * Why a call failed. `rejected` is the caller's fault (a 4xx about the request); the others are the upstream's.
 * `unfinished`: it said that the stream is over, and not that the answer is. `slow_client`: its reader made the stream last
 * too long. `cut_off`: no call was made, because every circuit is open. `own_fault`: what reads the answer here has failed.
 */
export interface UpstreamFailure {
  kind:
    | 'rejected'
    | 'rate_limited'
    | 'unavailable'
    | 'misconfigured'
    | 'timeout'
    | 'connection'
    | 'malformed'
    | 'unfinished'
    | 'too_large'
    | 'slow_client'
    | 'cut_off'
    | 'own_fault'
    | 'aborted';
  /** What happened, in our own words. */
  detail: string;
  status?: number;
  /** The error of the socket, as in ECONNREFUSED. */
  errno?: string;
  /** What the upstream said, bounded. A caller reads it when the request was refused; the log never does. */
  message?: string;
  code?: string;
  param?: string;
  retryAfterMs?: number;
  /** Nothing of the request was sent, where its kind does not say so. */
  isUnsent?: true;
  /** What was thrown, where the fault is our own. */
  cause?: unknown;
}

/** What is thrown here while an answer is read says nothing about its upstream. */
export function ownFault(cause: unknown): UpstreamFailure {
  return {
    kind: 'own_fault',
    detail: 'its answer could not be read for a fault of our own',
    cause,
  };
}

/**
 * Errors that come before anything of a request is sent: there was no connection, or none that is trusted, or the library
 * that would make one is not there.
 */
const UNSENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|EPROTO|ERR_SSL_\w+|ERR_TLS_\w+|ERR_MODULE_\w+|CERT_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+)$/;

/** Whether a call has failed before anything of its request was sent. */
export function failedUnsent({ errno = '', isUnsent }: UpstreamFailure): boolean {
  return isUnsent ?? UNSENT.test(errno);
}

/** What calls that fail so are on a receipt; those with a status, where it is one of a server. */
const IN_VAIN: Readonly<Partial<Record<UpstreamFailure['kind'], Failure>>> = {
  unavailable: 'upstream_error',
  misconfigured: 'upstream_error',
  timeout: 'upstream_timeout',
  connection: 'upstream_error',
  malformed: 'upstream_error',
  unfinished: 'upstream_error',
  too_large: 'upstream_error',
  slow_client: 'upstream_error',
  own_fault: 'internal_error',
};

/**
 * Why a receipt says that a request failed, where nothing else comes of it than this call; undefined where the call may have
 * used nothing: none was made, nothing of the request was sent, or the upstream has refused it before its answer began. A
 * bad request, a rate or a credential that is refused would otherwise write receipts without a bound.
 */
export function calledInVain(call: UpstreamFailure): Failure | undefined {
  const { kind, status } = call;
  if (failedUnsent(call)) return undefined;
  // Without a status it was an answer of 200 that turned out to be an error.
  const { [kind]: failure } = IN_VAIN;
  if (kind !== 'unavailable' && kind !== 'misconfigured') return failure;
  return (status ?? (kind === 'unavailable' ? 500 : 400)) < 500 ? undefined : failure;
}

/** An upstream fails a call: before anything of its answer was used, or with what its stream goes on to say. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure;
  constructor(failure: UpstreamFailure) {
    super(failure.detail);
    this.name = 'UpstreamError';
    this.failure = failure;
  }
}

/** Our credential, our account with them, our address, our name for the model. */
const ABOUT_US: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 501]);

/** What an HTTP status says about who is at fault. */
export function kindOfStatus(status: number): UpstreamFailure['kind'] {
  if (status === 429) return 'rate_limited';
  if (ABOUT_US.has(status)) return 'misconfigured';
  // What redirects is not followed: a request and its credential go where the catalogue says, or nowhere.
  if (status < 400) return 'misconfigured';
  if (status === 408 || status === 409 || status === 425) return 'unavailable';
  return status >= 400 && status < 500 ? 'rejected' : 'unavailable';
}

/** An error that an upstream put into words, with the HTTP status that it came with. */
export function failureOfErrorBody(body: unknown, status?: number): UpstreamFailure {
  const { fault, status: inside, ...read } = readErrorBody(body);
  const stated = status ?? inside;
  const detail =
    status === undefined ? 'it sent an error in place of an answer' : 'it failed by itself';
  const failure: UpstreamFailure = { kind: kindOf(fault, stated), detail, ...read };
  if (stated !== undefined) failure.status = stated;
  if (failure.kind !== 'rejected') return failure;
  if (fault === 'prompt_too_long') failure.code = 'context_length_exceeded';
  if (fault === 'unsupported_modality') failure.code = 'unsupported_modality';
  // What a server says of a fault of its own may tell of its insides.
  if (stated !== undefined && stated >= 500) failure.message = OWN_WORDS[fault!] ?? '';
  return failure;
}

const OWN_WORDS: Partial<Record<NonNullable<ErrorBody['fault']>, string>> = {
  prompt_too_long: 'The prompt is longer than the model can take.',
  unsupported_modality: 'The model does not take this kind of content.',
  not_taken: 'The upstream provider does not take this.',
};

/**
 * A status that is about us stands; else the words decide, since servers answer 500 to requests that are merely wrong, and
 * to some of them for sure.
 */
function kindOf(fault: ErrorBody['fault'], status: number | undefined): UpstreamFailure['kind'] {
  const kind = status === undefined ? 'unavailable' : kindOfStatus(status);
  if (kind === 'misconfigured' || kind === 'rate_limited') return kind;
  if (fault === 'configuration')
    return kind === 'rejected' || status === undefined ? 'misconfigured' : kind;
  if (fault !== undefined && OWN_WORDS[fault] !== undefined) return 'rejected';
  if (status !== undefined || fault === undefined) return kind;
  return fault === 'rate_limited' ? 'rate_limited' : 'rejected';
}

const PARAM = /^[a-z][a-z0-9_]*/;

/** What other requests call the parameters of the chat that they may have become. */
const OTHER_PARAMS: Readonly<Partial<Record<Route, Readonly<Record<string, string>>>>> = {
  responses: {
    messages: 'input',
    max_tokens: 'max_output_tokens',
    reasoning_effort: 'reasoning',
    response_format: 'text',
    verbosity: 'text',
  },
  // Its messages have other places there.
  messages: {
    messages: 'messages',
    parallel_tool_calls: 'tool_choice',
    reasoning_effort: 'output_config',
    response_format: 'output_config',
    stop: 'stop_sequences',
  },
};

const upstreamError = (message: string): Fault => new Fault('upstream_error', { message });

const BY_KIND: Record<Exclude<UpstreamFailure['kind'], 'rejected'>, Fault> = {
  rate_limited: new Fault('upstream_rate_limited'),
  unavailable: new Fault('upstream_error'),
  misconfigured: upstreamError(
    'The upstream provider does not take requests of this gateway; its operator sees why.',
  ),
  timeout: new Fault('upstream_timeout'),
  connection: upstreamError('The connection to the upstream provider failed. Try again shortly.'),
  malformed: upstreamError('The upstream provider sent an answer that cannot be read.'),
  unfinished: upstreamError('The upstream provider did not finish its answer. Try again shortly.'),
  too_large: upstreamError(
    'The answer of the upstream provider is too large. Ask for less at once.',
  ),
  slow_client: upstreamError(
    'The answer was read so slowly that its stream took more than an hour.',
  ),
  cut_off: new Fault('region_degraded', { values: { where: 'The region' } }),
  own_fault: new Fault('internal_error'),
  aborted: upstreamError('The request was cancelled.'),
};

/**
 * What the caller is told about an upstream's failure. A refused request keeps the upstream's reason; nothing else does.
 * @param contextWindow of the model, where it is known
 */
export function faultOf(failure: UpstreamFailure, route: Route, contextWindow?: number): WireFault {
  if (failure.kind === 'rejected') return rejection(failure, route, contextWindow);
  const fault = wireFault(BY_KIND[failure.kind]);
  if (failure.retryAfterMs !== undefined) fault.retryAfterMs = failure.retryAfterMs;
  return fault;
}

function rejection(
  { code, message, param, status }: UpstreamFailure,
  route: Route,
  contextWindow: number | undefined,
): WireFault {
  const said = message ?? 'The upstream provider refused the request as malformed.';
  if (code === 'context_length_exceeded' || code === 'unsupported_modality') {
    const whole = PROMPT_PARAMS[route];
    return {
      code: code === 'unsupported_modality' ? code : 'prompt_too_long',
      message: code === 'unsupported_modality' ? said : inKnownWords(said, contextWindow),
      param: route !== 'messages' && param?.startsWith(`${whole}[`) === true ? param : whole,
    };
  }
  if (status === 413) return { code: 'request_too_large', message: said };
  const name = PARAM.exec(param ?? '')?.[0];
  const translated = OTHER_PARAMS[route]?.[name ?? ''];
  if (translated !== undefined)
    return { code: codeOfParameter(translated), message: said, param: translated };
  if (name === undefined) return { code: 'invalid_request', message: said };
  return { code: codeOfParameter(name), message: said, param: param! };
}

/** How servers say how much their model takes. */
const STATED_WINDOW =
  /(?:context|model) (?:length|size|window)\D{0,20}?(\d{2,9})|n_ctx \((\d{2,9})\)/i;
const WINDOW_CODE = 'context_length_exceeded';
/** Others say "This endpoint's …", and libraries that look for the model's do not know that. */
const KNOWN_WORDS = /this model's maximum context length is \d+ tokens/i;

/**
 * An upstream's refusal of a prompt over its window, with the words by which agents and libraries know it: they shorten the
 * conversation then, or raise an error of its own kind. The window is the one that the upstream states, where it does.
 */
function inKnownWords(said: string, contextWindow: number | undefined): string {
  const stated = STATED_WINDOW.exec(said);
  const tokens = stated?.[1] ?? stated?.[2] ?? contextWindow;
  const isKnown = KNOWN_WORDS.test(said) || tokens === undefined;
  const known = isKnown ? said : `This model's maximum context length is ${tokens} tokens. ${said}`;
  return known.includes(WINDOW_CODE) ? known : `${known} (${WINDOW_CODE})`;
}
