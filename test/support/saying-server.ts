import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What becomes of a connection whose bytes have arrived. */
export const resets = (socket: Socket): unknown => socket.resetAndDestroy();
export const closes = (socket: Socket): unknown => socket.end();
export const staysOpen = (): void => {};

/** An HTTP server that says these bytes to each connection that asks, and leaves it open. */
export async function startSayingServer(bytes: string) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('data', () => socket.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** To be called when the bytes have arrived: a reset may overtake them. */
    withEach: (then: (socket: Socket) => unknown): void => {
      for (const socket of sockets) then(socket);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
