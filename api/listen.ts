import { createServer, type ListenOptions, type Server } from 'node:net';
import type { FastifyInstance, FastifyListenOptions } from 'fastify';
import type { Config } from '#shared/config/config.ts';
import { addressesOf, isMissing } from '#shared/kernel/localhost.ts';
import type { GracefulShutdown } from './graceful-shutdown.ts';

/**
 * Connections that wait to be taken. Of one that finds no room the client's first packet is lost, and it sends it again a
 * second later: node's 511 are few when thousands come at once. The kernel allows at most `net.core.somaxconn`.
 */
const BACKLOG = 16_384;

/** Listens on every address of the host, and returns the port it got. */
export async function listen(
  app: FastifyInstance,
  shutdown: GracefulShutdown,
  { port, host, reusePort }: Pick<Config, 'port' | 'host' | 'reusePort'>,
): Promise<number> {
  const [first, ...others] = addressesOf(host);
  // Passed on to the socket: several api processes may share the port, and the kernel spreads connections.
  const address: ListenOptions = { port, host: first, reusePort, backlog: BACKLOG };
  await app.listen(address as FastifyListenOptions);
  const bound = app.server.address();
  const got = typeof bound === 'object' && bound !== null ? bound.port : port;
  for (const other of others) {
    const door = await listenFor(app.server, {
      port: got,
      host: other,
      reusePort,
      backlog: BACKLOG,
    });
    if (door !== null) shutdown.alsoAt(door);
  }
  return got;
}

/** Takes connections for an HTTP server on a further address; null where the machine has none such. */
function listenFor(
  server: FastifyInstance['server'],
  options: ListenOptions,
): Promise<Server | null> {
  // As an HTTP server opens its own.
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    server.emit('connection', socket),
  );
  return new Promise((resolve, reject) => {
    door.once('error', (error) => (isMissing(error) ? resolve(null) : reject(error)));
    door.listen(options, () => resolve(door));
  });
}
