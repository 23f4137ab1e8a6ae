import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { addressesOf, isMissing } from '#shared/kernel/localhost.ts';

/**
 * Ports below those that a system hands out by itself: to connections that go out, and to programs that listen on 0. Linux
 * begins at 32768 (`ip_local_port_range`), others at 49152 (RFC 6335). A process that is started again finds such a port
 * free, however many connections were made meanwhile.
 */
const KEPT_PORTS = { from: 15_000, below: 32_768 };
/** Whether a port can be kept for another process. */
export const HOLDS_PORTS = process.platform === 'linux';
const TRIES_MAX = 100;
const anyPort = (): number => randomInt(KEPT_PORTS.from, KEPT_PORTS.below);

/**
 * The port asked for if it is free, a free one for 0. The launcher must know ports before anything starts, because
 * receipts carry the public address and the catalogue the sandbox's.
 * @param choose what is tried for 0, until one is free.
 * @throws Error that says what to do when it is taken; its cause is the system's error.
 */
export async function claimPort(host: string, port: number, choose = anyPort): Promise<number> {
  if (port !== 0) return listenOnEach(host, port);
  for (let left = TRIES_MAX; ; left -= 1) {
    try {
      return await listenOnEach(host, choose());
    } catch (error) {
      if (left === 1 || !isTaken(error)) throw error;
    }
  }
}

/**
 * Keeps a claimed port from other programs until what is started for it listens there, with `reusePort`; what connects
 * meanwhile is turned away. To be followed by one call of what is returned. Elsewhere than on Linux, where ports cannot be
 * shared so, it is kept from none.
 */
export async function holdPort(host: string, port: number): Promise<() => void> {
  if (!HOLDS_PORTS) return () => {};
  const servers: Server[] = [];
  const release = (): void => {
    for (const server of servers.splice(0)) server.close();
  };
  try {
    for (const address of addressesOf(host)) {
      const server = createServer((socket) => socket.destroy());
      const isHeld = await listenOnce(server, { host: address, port, reusePort: true }).then(
        () => true,
        (error: Error) => {
          if (isMissing(error.cause as NodeJS.ErrnoException)) return false;
          throw error;
        },
      );
      if (isHeld) servers.push(server);
    }
  } catch (error) {
    release();
    throw error;
  }
  return release;
}

async function listenOnEach(host: string, port: number): Promise<number> {
  const [first, ...others] = addressesOf(host);
  await tryOnce(first, port);
  for (const other of others) {
    await tryOnce(other, port).catch((error: Error) => {
      if (!isMissing(error.cause as NodeJS.ErrnoException)) throw error;
    });
  }
  return port;
}

async function tryOnce(host: string, port: number): Promise<void> {
  const server = createServer();
  await listenOnce(server, { host, port });
  await new Promise((resolve) => server.close(resolve));
}

function listenOnce(
  server: Server,
  address: { host: string; port: number; reusePort?: boolean },
): Promise<void> {
  const { host, port } = address;
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message =
        error.code === 'EADDRINUSE'
          ? `Port ${port} on ${host} is in use; stop what uses it, or choose another with PORT=…`
          : `Cannot listen on ${host}:${port} (${error.code})`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(address, resolve);
  });
}

function isTaken(error: unknown): boolean {
  const { cause } = error as { cause?: NodeJS.ErrnoException };
  return cause?.code === 'EADDRINUSE';
}
