import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Looks at a request, and says whether it has taken it: answered it, or will, or has closed its connection, or will call
 * `goOn`, with which Fastify gets it.
 */
export type Taker = (
  request: IncomingMessage,
  response: ServerResponse,
  goOn: () => void,
) => boolean;

/**
 * Has `take` look at each request before Fastify does, which parses its query whole, however long, before any hook.
 * Fastify never hears of what is taken. Of several takers the one that was added last looks first.
 */
export function takeBeforeRouting({ server }: Pick<FastifyInstance, 'server'>, take: Taker): void {
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const goOn = (): void => {
      for (const handler of handlers) handler.call(server, request, response);
    };
    if (!take(request, response, goOn)) goOn();
  });
}

/** Where node's parser has what it gives each piece of a body to (`HTTPParser.kOnBody`). */
const ON_BODY = 3;

/** What node reads the requests of a connection with; there is no public name for it. */
interface Parser {
  onIncoming: unknown;
  socket: Socket | null;
  [ON_BODY]: unknown;
}

type ParsedSocket = Socket & { parser?: Parser | null };

/** What node's parser is told of a request behind which the bytes are no HTTP: it reads no further. */
const READ_NO_FURTHER = 2;

/** Closes a connection with all that is asked on it. */
export function cutOff(socket: ParsedSocket): void {
  socket.destroy();
  skipRest(socket);
}

/**
 * Has node make nothing more of what it has read of a connection at once, up to 64 KiB: it would go on, closed or not, and
 * make an exchange of each of thousands of requests, or a buffer of each of eleven thousand pieces of a body.
 */
export function skipRest(socket: ParsedSocket): void {
  const { parser } = socket;
  if (!parser) return;
  parser.onIncoming = () => READ_NO_FURTHER;
  const { [ON_BODY]: onBody } = parser;
  // It is skipped already: what stands there must not be lost.
  if (onBody === undefined) return;
  const enumerable = true;
  // Another connection may have the parser in this very turn.
  const get = (): unknown => (parser.socket === socket ? undefined : onBody);
  Object.defineProperty(parser, ON_BODY, { get, enumerable, configurable: true });
  setImmediate(() =>
    Object.defineProperty(parser, ON_BODY, {
      value: onBody,
      enumerable,
      configurable: true,
      writable: true,
    }),
  );
}
