import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

/**
 * Asks for the address of each connection when it comes, once: node remembers the answer, and of a connection that has been
 * reset the system knows none any more. One that has none then has left already, and its request, if it sent one, is none.
 */
export function keepConnections({ server }: Pick<FastifyInstance, 'server'>): void {
  server.prependListener('connection', (socket: Socket) => {
    if (socket.remoteAddress === undefined) socket.destroy();
  });
}
