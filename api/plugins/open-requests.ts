import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { cutOff, takeBeforeRouting } from './before-routing.ts';

/** Clients that send requests ahead of the answers send two or three; most send none. */
const OPEN_MAX = 8;

/**
 * Bounds the requests of one connection that are not answered, by closing it at the one too many: what was asked on it is
 * made in one turn of the event loop, and held until its answers are read, so without a bound a packet would be thousands
 * of requests.
 */
export function boundOpenRequests(
  app: Pick<FastifyInstance, 'server'>,
  onRefused: (bound: 'requests') => void,
): void {
  const openOf = new WeakMap<Socket, number>();
  takeBeforeRouting(app, ({ socket }, response) => {
    const open = openOf.get(socket) ?? 0;
    if (open >= OPEN_MAX) {
      if (!socket.destroyed) onRefused('requests');
      cutOff(socket);
      return true;
    }
    openOf.set(socket, open + 1);
    response.once('close', () => openOf.set(socket, openOf.get(socket)! - 1));
    return false;
  });
}
