import { createServer, type ListenOptions, type Server } from 'node:net';
import type { FastifyInstance, FastifyListenOptions } from 'fastify';
import type { Config } from '#shared/config/config.ts';
import { addressesOf, isMissing } from '#shared/kernel/localhost.ts';
import type { GracefulShutdown } from './graceful-shutdown.ts';

/**
 * A process takes one connection of a listener in each turn of its event loop: behind thousands that come at once the next
 * would wait for as many turns. The kernel spreads connections over these.
 */
const LISTENERS = 16;
/** Elsewhere the kernel spreads nothing, and node refuses to share a port. */
const SPREADS = process.platform === 'linux';

/**
 * Listens on every address of the host, and returns the port it got.
 * @throws with the code `EADDRINUSE` where another listens there, unless the port is to be shared with other processes
 */
export async function listen(
  app: FastifyInstance,
  shutdown: GracefulShutdown,
  { port, host, reusePort }: Pick<Config, 'port' | 'host' | 'reusePort'>,
): Promise<number> {
  const [first, ...others] = addressesOf(host);
  const shared = { reusePort: reusePort || SPREADS };
  // A port that listeners share is not refused to a further one: whether it is free is asked before.
  const isToBeHad = async (address: ListenOptions): Promise<boolean> => {
    if (reusePort) return true;
    const door = await listenFor(app.server, address);
    door?.close();
    return door !== null;
  };
  await isToBeHad({ port, host: first });
  const address: ListenOptions = { port, host: first, ...shared };
  await app.listen(address as FastifyListenOptions);
  const bound = app.server.address();
  const got = typeof bound === 'object' && bound !== null ? bound.port : port;
  const openDoors = async (at: ListenOptions, count: number): Promise<void> => {
    for (let opened = 0; opened < count; opened += 1) {
      const door = await listenFor(app.server, { ...at, ...shared });
      if (door === null) return;
      shutdown.alsoAt(door);
    }
  };
  if (SPREADS) await openDoors({ port: got, host: first }, LISTENERS - 1);
  for (const other of others) {
    const at = { port: got, host: other };
    if (await isToBeHad(at)) await openDoors(at, SPREADS ? LISTENERS : 1);
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
