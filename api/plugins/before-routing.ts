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

/** What node reads the requests of a connection with; there is no public name for it. */
type ParsedSocket = Socket & { parser?: { onIncoming: unknown } | null };

/** What node's parser is told of a request behind which the bytes are no HTTP: it reads no further. */
const READ_NO_FURTHER = 2;

/**
 * Closes a connection with all that is asked on it. Node would go on parsing what has come at once, up to 64 KiB with
 * thousands of requests, and make an exchange of each, closed or not.
 */
export function cutOff(socket: ParsedSocket): void {
  socket.destroy();
  if (socket.parser) socket.parser.onIncoming = () => READ_NO_FURTHER;
}
