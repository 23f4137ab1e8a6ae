import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { codeOfParameter } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { failureOfStore } from '#shared/kernel/store-away.ts';
import { schemaWords, type Schema } from '#shared/kernel/schema-words.ts';
import { dotted } from '#shared/kernel/flaw.ts';
import { notMeant, notOffered, wrongBase } from '#api/openai/not-offered.ts';
import { isOfMessages } from '#api/anthropic/error-envelope.ts';
import { envelopeOf, errorBody, errorHeaders } from './error-envelope.ts';
import { hasBody } from './intake.ts';
import { toldAtOnce } from './limits-of-agents.ts';
import { PARAMETERS_MAX, placeBeyond } from './parameters.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** What its answer says went wrong. */
    fault: Fault | null;
  }
}

export interface ReplyWithErrorOptions {
  /** Where callers reach the service. */
  publicUrl: string;
  /** Told of every error that is unforeseen, with its cause. */
  onInternalError: (error: unknown, request: FastifyRequest) => void;
  /** Told of every error that says that a store is away. */
  onStoreAway: (error: unknown) => void;
  onRefusal: (fault: Fault, request: FastifyRequest) => void;
  /** Counts a request that is refused before it is known who asks; goes on with another refusal where it is one too many. */
  count: (request: FastifyRequest, reply: FastifyReply, goOn: (refused?: Fault) => void) => void;
  /** Sends a refusal in the form that its caller reads. */
  send: (reply: FastifyReply, fault: Fault) => FastifyReply;
}

/** Answers every failing path in the same way: unknown routes, framework errors, our own refusals, surprises. */
export function replyWithError(app: FastifyInstance, options: ReplyWithErrorOptions): void {
  const methodsOf = routeTable(app);
  app.decorateRequest('fault', null);
  app.setErrorHandler((error: FastifyError | Fault, request, reply) => {
    const fault = faultOf(error);
    request.fault = fault;
    const cause = fault.cause ?? error;
    if (fault.code === 'internal_error') options.onInternalError(cause, request);
    if (fault.code === 'store_unavailable') options.onStoreAway(cause);
    options.onRefusal(fault, request);
    return options.send(reply, fault);
  });
  const nothingHere = (request: FastifyRequest): Fault => {
    const allowed = methodsOf(request.url);
    const meant = notMeant(request.url, options.publicUrl);
    if (meant !== undefined) return new Fault('route_not_found', { message: meant });
    if (allowed.length === 0)
      return new Fault('route_not_found', {
        message: wrongBase(request.url, options.publicUrl) ?? notOffered(request.url),
      });
    return new Fault('method_not_allowed', {
      values: { method: request.method },
      headers: { allow: allowed.join(', ') },
    });
  };
  // Said before the body is read: what is wrong with a body matters only where there is something to send it to.
  app.addHook('onRequest', (request, reply, next) => {
    if (request.is404) return next(nothingHere(request));
    const fault = refusedAddress(request);
    if (fault === undefined) return next();
    options.count(request, reply, (refused) => next(refused ?? fault));
  });
  app.setNotFoundHandler((request, reply) => {
    const fault = nothingHere(request);
    options.onRefusal(fault, request);
    return options.send(reply, fault);
  });
}

/**
 * Of some of these Node takes the first and drops the others, of some it makes one value of all; a proxy before it may have
 * believed another.
 */
const ONE_ONLY: Readonly<Record<string, string>> = {
  host: 'Host',
  authorization: 'Authorization',
  'content-type': 'Content-Type',
  'idempotency-key': 'Idempotency-Key',
  'x-api-key': 'x-api-key',
  'x-region': 'x-region',
};

/** A name, an IPv4 address or one of IPv6 in brackets, and perhaps a port (RFC 9112, 3.2). No name has a comma. */
const HOST = /^(?:[\w.~%!$&'()*+;=-]+|\[[\da-f:.]+\])(?::\d*)?$/i;
/** What a coding may be called without upsetting the sentence that names it. */
const CODING = /^[\w-]{1,32}$/;
/** Far more than the codings that bodies are sent with. */
const CODINGS_CHARS_MAX = 512;

/** Far more than clients send and proxies add. Node reads one more. */
export const HEADERS_MAX = 100;

/** Requests that no route takes, so that none has to look for them: no store holds a NUL, and HTTP/1.1 demands a Host. */
function refusedAddress({ raw, url }: FastifyRequest): Fault | undefined {
  if (raw.rawHeaders.length > 2 * HEADERS_MAX) {
    return new Fault('headers_too_large', { message: `More than ${HEADERS_MAX} headers came.` });
  }
  if (placeBeyond(url) !== -1) {
    const message = `The address has more than ${PARAMETERS_MAX} parameters.`;
    return new Fault('invalid_url', { message });
  }
  if (url.includes('%00')) {
    return new Fault('invalid_url', { message: 'The address holds a NUL character.' });
  }
  return refusedHost(raw) ?? refusedFraming(raw) ?? refusedCoding(raw);
}

function refusedHost({ headers: { host }, httpVersion }: IncomingMessage): Fault | undefined {
  if (host === undefined && httpVersion !== '1.1') return undefined;
  if (host !== undefined && HOST.test(host)) return undefined;
  const message =
    host === undefined
      ? 'The header Host is missing.'
      : 'The header Host must be one host, with or without a port.';
  return new Fault('invalid_host', { message, param: 'Host' });
}

/**
 * Bodies are taken as they are. One that says it is compressed, and is not, would be read by us and not by a reader who looks
 * into it on the way; one that is, by them and not by us.
 */
function refusedCoding(request: IncomingMessage): Fault | undefined {
  const { 'content-encoding': named = '' } = request.headers;
  // An endless list is not read, and so not taken.
  const codings = named.length > CODINGS_CHARS_MAX ? [named] : named.split(',');
  const coding = codings
    .map((one) => one.trim())
    .find((one) => one !== '' && one.toLowerCase() !== 'identity');
  if (coding === undefined || !hasBody(request)) return undefined;
  return new Fault('invalid_content_encoding', {
    values: { coding: CODING.test(coding) ? coding : 'this' },
    // RFC 9110, 12.5.3: what would be taken.
    headers: { 'accept-encoding': 'identity' },
  });
}

/** What two readers of one request might read differently, of whom the first decides who may send it. */
function refusedFraming({ httpVersion, rawHeaders, headers }: IncomingMessage): Fault | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return new Fault('invalid_request', { message: 'The version must be HTTP/1.1 or HTTP/1.0.' });
  }
  const coding = headers['transfer-encoding'];
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    const message = 'The only transfer coding that is taken is chunked.';
    return new Fault('invalid_request', { message, param: 'Transfer-Encoding' });
  }
  // RFC 9112, 6.1: the program that wrote it before us does not know what chunks are, and saw another end of the body.
  if (coding !== undefined && httpVersion === '1.0') {
    const message = 'HTTP/1.0 has no transfer codings.';
    return new Fault('invalid_request', { message, param: 'Transfer-Encoding' });
  }
  const seen: string[] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!.toLowerCase();
    const param = Object.hasOwn(ONE_ONLY, name) ? ONE_ONLY[name] : undefined;
    if (param === undefined) continue;
    if (seen.includes(name))
      return new Fault('invalid_request', { message: `The header ${param} came twice.`, param });
    seen.push(name);
  }
  return undefined;
}

/** A browser that shows a page to a person. Programs name a key, or take something else. */
export function isBrowser({ headers }: FastifyRequest): boolean {
  const { authorization, accept = '' } = headers;
  return authorization === undefined && /\btext\/html\b/i.test(accept);
}

/** Whether a person looks for a page that is not there; below /v1 are none. */
export function looksForPage(request: FastifyRequest, { status }: Fault): boolean {
  const { method, url } = request;
  const isOpened = method === 'GET' || method === 'HEAD';
  return status === 404 && isOpened && !/^\/v1(?:[/?]|$)/.test(url) && isBrowser(request);
}

/** Sends a refusal with its headers. */
export function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  const { status, body } = statusAndBody(fault, reply.request);
  return reply
    .code(status)
    .headers(errorHeaders(fault))
    .type('application/json; charset=utf-8')
    .send(body);
}

function statusAndBody(fault: Fault, request: FastifyRequest): { status: number; body: string } {
  const told = isOfMessages(request.url)
    ? undefined
    : toldAtOnce(fault, request.headers, Date.now());
  if (told === undefined) return { status: fault.status, body: errorBody(fault, request) };
  const { status, ...members } = told;
  return { status, body: JSON.stringify({ error: { ...envelopeOf(fault).error, ...members } }) };
}

/** Remembers every route as a pattern, so that a wrong method can be told from a wrong address. */
function routeTable(app: FastifyInstance): (url: string) => string[] {
  const routes: { pattern: RegExp; methods: string[] }[] = [];
  app.addHook('onRoute', ({ url, method }) => {
    const source = url
      .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll(/:[^/]+/g, '[^/]+')
      .replaceAll('*', '.+');
    routes.push({ pattern: new RegExp(`^${source}/?$`), methods: [method].flat() });
  });
  return (url) => {
    const path = url.split('?', 1)[0]!;
    const matching = routes.filter(({ pattern }) => pattern.test(path));
    return [...new Set(matching.flatMap(({ methods }) => methods))].toSorted();
  };
}

/** The one place where a thrown thing becomes what the caller sees. What is not known is a bare `internal_error`. */
export function faultOf(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { code, validation, statusCode } = error as Partial<FastifyError>;
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Fault('request_too_large');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Fault('invalid_content_type');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Fault('invalid_content_length', {
        message: 'The body is not as long as Content-Length says.',
        param: 'Content-Length',
      });
    case 'FST_ERR_BAD_URL':
      return new Fault('invalid_url');
    // No id is as long as the longest that a path may hold.
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Fault('route_not_found');
    case undefined:
    default:
  }
  if (validation !== undefined) return faultOfValidation(validation);
  if (statusCode === 400)
    return new Fault('invalid_request', { message: 'The request cannot be read.', cause: error });
  return failureOfStore(error);
}

/** Parameters whose codes are made of another name. */
const CODE_NAMES: ReadonlyMap<string, string> = new Map([
  ['scopes', 'scope'],
  ['expires_at', 'expiry'],
]);

/** The code of a parameter of a route that is not what it must be. */
export function codeOfDeclared(param: string): `invalid_${string}` {
  return codeOfParameter(CODE_NAMES.get(param) ?? param);
}

/** A schema of ours refused a query, a path or a body: names the first parameter at fault, and what it must be. */
function faultOfValidation(validation: NonNullable<FastifyError['validation']>): Fault {
  const { instancePath = '', params = {} } = validation[0] ?? {};
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => (/^\d+$/.test(step) ? Number(step) : step));
  const missing = params['missingProperty'];
  const unknown = params['additionalProperty'];
  if (typeof missing === 'string') path.push(missing);
  // The name of an unknown member is the caller's text, of any length.
  const canBeNamed = typeof unknown === 'string' && /^\w{1,64}$/.test(unknown);
  if (canBeNamed) path.push(unknown);
  const name = dotted(path) || 'request';
  const wanted = schemaWords(unmetSchema(validation, instancePath));
  const message =
    missing !== undefined
      ? `\`${name}\` is required.`
      : unknown !== undefined
        ? `\`${name}\` ${canBeNamed ? 'is not known' : 'holds a name that is not known'} here.`
        : `\`${name}\` must be ${wanted}.`;
  return new Fault(codeOfDeclared(String(path[0] ?? 'request')), { message, param: name });
}

/** The whole of what stands at this place: where there are alternatives, the last error is about all of them. */
function unmetSchema(
  validation: NonNullable<FastifyError['validation']>,
  instancePath: string,
): Schema {
  const here = validation.filter((one) => one.instancePath === instancePath);
  const whole = here.find(({ keyword }) => keyword === 'anyOf') ?? here[0];
  return (whole as { parentSchema?: Schema } | undefined)?.parentSchema ?? {};
}
