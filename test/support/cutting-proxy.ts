import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { atFileEnd } from './file-end.ts';

export interface CuttingProxy {
  /** With this host and port in place of the service's. */
  baseUrl: string;
  /** Connections that were cut so far. */
  cuts(): number;
  /** From now on nothing answers at its address. */
  end(): void;
}

/** A network that breaks: the first `cuts` connections are reset when their answer is on its way. */
export async function startCuttingProxy(baseUrl: string, cuts: number): Promise<CuttingProxy> {
  const { hostname, port, pathname } = new URL(baseUrl);
  let made = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const service = connect(Number(port), hostname);
    for (const socket of [client, service]) {
      sockets.add(socket);
      // Either end may go first; that is what this is for.
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.pipe(service);
    service.once('data', (first) => {
      if (made < cuts) {
        made += 1;
        client.resetAndDestroy();
        service.destroy();
        return;
      }
      client.write(first);
      service.pipe(client);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const end = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  atFileEnd(end);
  const { port: own } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${own}${pathname}`, cuts: () => made, end };
}
