import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { answerAdmin } from './admin.ts';
import { answer, errorBody, ROUTES } from './answer.ts';
import { CallBook } from './calls.ts';
import { faultOfAttempt, parseFault, type SandboxFault } from './faults.ts';
import { BadRequest, Input } from './input.ts';
import { Reply } from './reply.ts';

export interface SandboxOptions {
  /** Pace of streams; 0 for as fast as possible. */
  tokensPerSecond: number;
  /** When set, calls must carry it as their bearer credential. */
  apiKey?: string;
}

/** The state of the process that calls share. */
export interface Sandbox {
  book: CallBook;
  options: SandboxOptions;
  /** The fault of every call that names none itself. */
  standingFault: SandboxFault;
}

/** Larger than the gateway's own limit of 20 MiB, so that it is never the sandbox that refuses. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Longer than clients keep idle connections, so that they and not we close them. */
const KEEP_ALIVE_MS = 75_000;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_BYTES_MAX) throw new BadRequest('The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sendError(response: ServerResponse, status: number, body: string): void {
  if (response.headersSent) {
    // Too late to say so; a connection that breaks is better than one that stays silent.
    if (!response.writableEnded) response.destroy();
    return;
  }
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

function authorised(request: IncomingMessage, apiKey: string | undefined): boolean {
  if (apiKey === undefined) return true;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(request.headers.authorization ?? ''), digest(`Bearer ${apiKey}`));
}

function faultOf(
  request: IncomingMessage,
  body: Record<string, unknown>,
  sandbox: Sandbox,
): SandboxFault {
  const named = request.headers['x-sandbox-fault'] ?? body['sandbox_fault'];
  const fault = named === undefined ? sandbox.standingFault : parseFault(named);
  return fault.id === undefined ? fault : faultOfAttempt(fault, sandbox.book.attempt(fault.id));
}

async function serveCall(
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
  sandbox: Sandbox,
): Promise<void> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(await readBody(request));
  } catch (error) {
    throw error instanceof BadRequest ? error : new BadRequest('The body is not valid JSON.');
  }
  const input = new Input(parsed);
  const fault = faultOf(request, input.body, sandbox);
  const model = input.body['model'];
  const call = sandbox.book.start(
    {
      id: fault.id ?? null,
      path,
      model: typeof model === 'string' ? model : null,
      stream: input.body['stream'] === true,
    },
    request.headers,
  );
  const reply = new Reply({
    response,
    call,
    fault,
    book: sandbox.book,
    tokensPerSecond: sandbox.options.tokensPerSecond,
  });
  try {
    await answer(path, input, reply);
  } catch (error) {
    call.status = 400;
    reply.markFaulted();
    throw error;
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sandbox: Sandbox,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://sandbox');
  // Some clients are given the origin, some the address with its version.
  const path = pathname.replace(/^\/v1(?=\/)/, '');
  if (path.startsWith('/sandbox/')) {
    await answerAdmin(request, response, { path, searchParams, sandbox, readBody });
  } else if (!authorised(request, sandbox.options.apiKey)) {
    sendError(
      response,
      401,
      errorBody('Wrong API key.', 'invalid_request_error', null, 'invalid_api_key'),
    );
  } else if (request.method === 'GET' && path === '/models') {
    // By any name that it is asked for, as proxies write it.
    const data = ['almanac', '*'].map((id) => ({
      id,
      object: 'model',
      created: 1_767_225_600,
      owned_by: 'sandbox',
    }));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ object: 'list', data }));
  } else if (request.method === 'POST' && ROUTES.includes(path)) {
    await serveCall(path, request, response, sandbox);
  } else {
    sendError(
      response,
      404,
      errorBody(`There is no ${pathname}.`, 'invalid_request_error', null, 'not_found'),
    );
  }
}

function refuse(error: unknown, response: ServerResponse): void {
  if (error instanceof BadRequest) {
    sendError(response, 400, errorBody(error.message, 'invalid_request_error', error.param, null));
  } else {
    // A client that left in the middle of its body; or a mistake of ours, which must be seen.
    if (!response.destroyed)
      process.stderr.write(`sandbox: ${String((error as Error)?.stack ?? error)}\n`);
    sendError(response, 500, errorBody('The sandbox failed.', 'server_error', null, null));
  }
}

/** Builds the sandbox upstream; it does not listen yet. */
export function createSandbox(options: SandboxOptions): Server {
  const sandbox: Sandbox = { book: new CallBook(), options, standingFault: {} };
  const server = createServer(
    { noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => {
      serve(request, response, sandbox).catch((error: unknown) => refuse(error, response));
    },
  );
  return server;
}
