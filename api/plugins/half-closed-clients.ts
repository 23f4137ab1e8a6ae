import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { PATIENCE } from '#patience';
import { hasBody } from './intake.ts';

/** A client that has said all it will say does so with the last byte of its request; a packet may be lost on the way. */
const HALF_CLOSE_MS = 1_000 * PATIENCE;
/**
 * How long after its FIN a half-closed client is asked whether it is still there. One that has closed its socket altogether
 * looks the same at first; its system forgets the connection within a minute, and then says so.
 */
const PROBE_MS = 10_000;

/**
 * Answers clients that close their side of the connection after the request, as shells and clients of HTTP/1.0 do. The
 * same FIN comes from a client that has left, whose request is to be stopped: that one has asked to keep the connection,
 * or goes later.
 */
export function answerHalfClosedClients({ server }: FastifyInstance): void {
  // Not in the types; without it node ends its own side as soon as the client ends theirs.
  Object.assign(server, { httpAllowHalfOpen: true });
  /** When a connection brought the last byte of a request. */
  const wholeAt = new WeakMap<Socket, number>();
  server.on('request', (request) => {
    const { socket } = request;
    const note = (): void => void wholeAt.set(socket, performance.now());
    note();
    if (hasBody(request)) request.once('end', note);
  });
  server.on('connection', (socket: Socket) => {
    socket.on('end', () => {
      const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse | null };
      if (response == null || response.writableEnded) return;
      const keeps = /keep-alive/i.test(response.req.headers.connection ?? '');
      if (keeps || performance.now() - (wholeAt.get(socket) ?? 0) > HALF_CLOSE_MS) socket.destroy();
      else socket.setKeepAlive(true, PROBE_MS);
    });
  });
}
