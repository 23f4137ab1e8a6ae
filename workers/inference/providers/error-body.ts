import { isObject, type Json } from '#shared/kernel/json-object.ts';

/** What an upstream said of a request that it did not answer; untrusted, and bounded here. */
export interface ErrorBody {
  /** For the caller, where the request is at fault. */
  message?: string;
  code?: string;
  param?: string;
  /** An HTTP status in the body: some servers send errors with a good one. */
  status?: number;
  /** The request is at fault, even if the status says otherwise: by the words that servers have for it. */
  fault?:
    | 'prompt_too_long'
    | 'unsupported_modality'
    | 'invalid_request'
    | 'not_taken'
    | 'rate_limited'
    | 'configuration';
}

/** What a caller may read of an upstream's refusal. */
const MESSAGE_CHARS_MAX = 500;
const NAME_CHARS_MAX = 64;
/** Of a list of problems, so many are told. */
const PROBLEMS_MAX = 3;
/** Words about the kind of fault come early; servers may quote whole prompts behind them. */
const JUDGED_CHARS_MAX = 4_096;

/** Codes and types that upstreams have for a prompt above the context window. */
const TOO_LONG_NAMES: ReadonlySet<string> = new Set([
  'context_length_exceeded',
  'prompt_too_long',
  'string_above_max_length',
  'exceed_context_size_error',
]);

/** And the words, of those that have no code for it. */
const TOO_LONG_WORDS = new RegExp(
  [
    'maximum context length',
    'exceed(s|ed|ing)? (the |its |your )?(model.s |maximum |available |configured )*context',
    'exceeds (the )?context',
    '(longer|greater) than the (model.s |maximum )*(context|model) length',
    'context length is only',
    '(prompt|input|request) is too long',
    'input length .*exceed',
    'token count .*exceeds',
    '`inputs` (tokens \\+ `max_new_tokens` must be <=|must have less than)',
    'too large to process',
    'too many tokens in',
    'reduce (the )?length of the (messages|input|prompt)',
    'context the overflows',
    'cannot truncate prompt',
    'max_tokens must be at least 1, got -',
  ].join('|'),
  'i',
);

/** A medium that the model does not take: several servers say it with the status of a fault of their own. */
const UNSUPPORTED_MEDIUM =
  /\b(image|audio|video|vision|multimodal)s?\b.*\bnot (supported|a multimodal model)|not a multimodal model|(does not|doesn.t) support (image|audio|video|vision|multimodal)|at most 0 (image|audio|video)/i;

/** What Python servers let through from the library that validates for them: with the status of a fault of their own. */
const NOT_TAKEN = /^\d+ validation errors?\b/;
/** And where it says the parameter. */
const NOT_TAKEN_PARAM = /'loc': \('body', '([a-z_]+)'/;

/** Our credential or our name for the model is refused: some servers say it with the status of a wrong request. */
const ABOUT_US =
  /\b(invalid|incorrect|missing|no) api[ _-]?key|api[ _-]?key (is |was )?(not|invalid|incorrect|missing)|invalid model name passed/i;

/** Types and states of errors that came with a good status. */
const FAULT_OF_TYPE: ReadonlyMap<string, NonNullable<ErrorBody['fault']>> = new Map([
  ['invalid_request_error', 'invalid_request'],
  ['BadRequestError', 'invalid_request'],
  ['INVALID_ARGUMENT', 'invalid_request'],
  ['validation', 'invalid_request'],
  ['authentication_error', 'configuration'],
  ['invalid_api_key', 'configuration'],
  ['model_not_found', 'configuration'],
  ['no_db_connection', 'configuration'],
  ['rate_limit_error', 'rate_limited'],
  ['rate_limit_exceeded', 'rate_limited'],
  ['RESOURCE_EXHAUSTED', 'rate_limited'],
]);

/**
 * Whether a parsed body or stream payload tells of an error instead of answering: in OpenAI's shape (`error`), in that of
 * FastChat and its heirs (`"object": "error"`), or in that of what stands before the server (`detail`, `message`).
 * Some servers write `"error": null`, `""` or `{}` on good answers.
 */
export function isErrorBody(body: Json): boolean {
  if (saysSomething(body['error']) || body['object'] === 'error' || body['type'] === 'error')
    return true;
  return (
    body['choices'] === undefined &&
    body['data'] === undefined &&
    body['usage'] === undefined &&
    (body['detail'] !== undefined || typeof body['message'] === 'string')
  );
}

function saysSomething(error: unknown): boolean {
  return isObject(error) ? Object.keys(error).length > 0 : Boolean(error);
}

/** Whether these words say that a prompt does not fit. */
export function saysTooLong(message: string): boolean {
  return TOO_LONG_WORDS.test(message.slice(0, JUDGED_CHARS_MAX));
}

/**
 * Reads an error in whichever of its shapes: OpenAI, llama.cpp, LiteLLM, Groq and Gemini put an object under `error`
 * (Gemini's in a list of one), TGI, Ollama and LM Studio a text; vLLM before 0.10, SGLang and Mistral write its members
 * at the top; FastAPI has `detail`, a text or a list of problems; others `message`.
 */
export function readErrorBody(body: unknown): ErrorBody {
  const top: unknown = Array.isArray(body) ? (body as unknown[])[0] : body;
  if (!isObject(top)) return typeof top === 'string' ? judged({ message: top }, []) : {};
  const error = top['error'];
  if (typeof error === 'string')
    return judged({ message: error }, [top['error_type'], top['type'], top['code']]);
  const fields = isObject(error) ? error : top;
  const { code, type, status, param } = fields;
  const problem = problemOf(fields['message'] ?? fields['detail'] ?? fields['msg']);
  const read: ErrorBody = { ...problem };
  if (typeof param === 'string') read.param = param;
  if (typeof code === 'string' && !/^\d+$/.test(code)) read.code = code;
  const stated = [status, code].map(Number).find((one) => one >= 400 && one < 600);
  if (stated !== undefined && Number.isInteger(stated)) read.status = stated;
  return judged(read, [code, type, status]);
}

/** The message, and what it is about: a text, an error within, or FastAPI's list of problems. */
function problemOf(value: unknown): Pick<ErrorBody, 'message' | 'param'> {
  if (typeof value === 'string') return { message: value };
  if (isObject(value)) return problemOf(value['message'] ?? value['error'] ?? value['detail']);
  if (!Array.isArray(value)) return {};
  const problems = value.slice(0, PROBLEMS_MAX).flatMap((one: unknown) => {
    if (!isObject(one) || typeof one['msg'] !== 'string') return [];
    const place = Array.isArray(one['loc']) ? one['loc'].filter((step) => step !== 'body') : [];
    return [{ place: place.join('.'), message: one['msg'] }];
  });
  if (problems.length === 0) return {};
  const message = problems
    .map((one) => (one.place === '' ? one.message : `${one.place}: ${one.message}`))
    .join('; ');
  const param = problems[0]!.place;
  return param === '' ? { message } : { message, param };
}

/** Bounds what was read and says whose fault it is, as far as words and types tell. */
function judged(read: ErrorBody, types: readonly unknown[]): ErrorBody {
  const names = types.filter((one) => typeof one === 'string');
  const words = (read.message ?? '').slice(0, JUDGED_CHARS_MAX);
  const fault = faultOf(names, words);
  const param = fault === 'not_taken' ? NOT_TAKEN_PARAM.exec(words)?.[1] : undefined;
  if (param !== undefined) read.param ??= param;
  return {
    ...(read.message === undefined ? {} : { message: read.message.slice(0, MESSAGE_CHARS_MAX) }),
    ...(read.code === undefined ? {} : { code: read.code.slice(0, NAME_CHARS_MAX) }),
    ...(read.param === undefined ? {} : { param: read.param.slice(0, NAME_CHARS_MAX) }),
    ...(read.status === undefined ? {} : { status: read.status }),
    ...(fault === undefined ? {} : { fault }),
  };
}

function faultOf(names: readonly string[], message: string): ErrorBody['fault'] {
  if (names.some((name) => TOO_LONG_NAMES.has(name)) || saysTooLong(message))
    return 'prompt_too_long';
  if (UNSUPPORTED_MEDIUM.test(message)) return 'unsupported_modality';
  if (ABOUT_US.test(message)) return 'configuration';
  if (NOT_TAKEN.test(message)) return 'not_taken';
  return names.map((name) => FAULT_OF_TYPE.get(name)).find((one) => one !== undefined);
}
