import type { Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/** What a client has read of its connection, and whether that is closed. */
export interface Seen {
  text: string;
  isClosed: boolean;
}

/** Has a server listen, and a client connect to it that writes bytes as they are; both end with the test. */
export async function rawClient(server: Server): Promise<{ client: Socket; seen: Seen }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const seen: Seen = { text: '', isClosed: false };
  client.on('error', () => {});
  client.on('data', (data) => {
    seen.text += data.toString();
  });
  client.on('close', () => {
    seen.isClosed = true;
  });
  return { client, seen };
}
