import { createServer } from 'node:net';

/**
 * The port asked for if it is free, a free one for 0. The launcher must know ports before anything starts, because
 * receipts carry the public address and the catalogue the sandbox's.
 * @throws Error that says what to do when it is taken; its cause is the system's error.
 */
export function claimPort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = error.code === 'EADDRINUSE';
      const message = taken
        ? `Port ${port} on ${host} is in use; stop what uses it, or choose another with PORT=…`
        : `Cannot listen on ${host}:${port} (${error.code})`;
      reject(new Error(message, { cause: error }));
    });
    server.listen(port, host, () => {
      const address = server.address();
      const got = typeof address === 'object' && address !== null ? address.port : port;
      server.close(() => resolve(got));
    });
  });
}
