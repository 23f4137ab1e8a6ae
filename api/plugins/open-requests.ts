import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { cutOff, takeBeforeRouting } from './before-routing.ts';

/** Clients that send requests ahead of the answers send two or three; most send none. */
const OPEN_MAX = 8;

/**
 * Bounds the requests of one connection that are not answered, by closing it at the one too many: what was asked on it is
 * made in one turn of the event loop, and held until its answers are read, so without a bound a packet would be thousands
 * of requests. Each of them hears when their connection closes, at a CONNECT too.
 */
export function boundOpenRequests(
  app: Pick<FastifyInstance, 'server'>,
  onRefused: (bound: 'requests') => void,
): void {
  const openOn = new WeakMap<Socket, Set<ServerResponse>>();
  takeBeforeRouting(app, ({ socket }, response) => {
    let open = openOn.get(socket);
    if (open === undefined) {
      const all = new Set<ServerResponse>();
      openOn.set(socket, all);
      open = all;
      // When node has told all that it tells.
      socket.once('close', () => setImmediate(() => closeAll(all)));
    }
    if (open.size >= OPEN_MAX) {
      if (!socket.destroyed) onRefused('requests');
      cutOff(socket);
      return true;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    return false;
  });
}

/**
 * At a CONNECT, which is taken by none here, node destroys the connection and has forgotten by then whose answers wait behind
 * others. What was counted for them would be counted for ever.
 */
function closeAll(open: ReadonlySet<ServerResponse>): void {
  for (const response of open) {
    response.destroyed = true;
    response.emit('close');
  }
}
