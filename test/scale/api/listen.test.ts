import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { GracefulShutdown } from '#api/graceful-shutdown.ts';
import { listen } from '#api/listen.ts';
import { isMissing } from '#shared/kernel/localhost.ts';
import { HAS_IPV6 } from '#test/support/localhost.ts';

const HOST = '127.0.0.1';
const SPREADS = process.platform === 'linux';

function open(port: number, reusePort = false): { app: FastifyInstance; got: Promise<number> } {
  const app = Fastify();
  onTestFinished(() => app.close());
  const shutdown = new GracefulShutdown(app.server);
  return { app, got: listen(app, shutdown, { port, host: HOST, reusePort }) };
}

it('localhost is this machine’s address of either family, where it has both, and both are left together', async () => {
  const app = Fastify();
  app.get('/', (request, reply) => reply.send(request.socket.localAddress));
  const shutdown = new GracefulShutdown(app.server);
  onTestFinished(() => app.close());
  const port = await listen(app, shutdown, { port: 0, host: 'localhost', reusePort: false });
  const ask = async (host: string): Promise<string> =>
    (await fetch(`http://${host}:${port}/`)).text();

  expect(await ask('127.0.0.1')).toBe('127.0.0.1');
  if (HAS_IPV6) expect(await ask('[::1]')).toBe('::1');

  await shutdown.leave(0);
  for (const host of ['127.0.0.1', '[::1]'])
    await expect(ask(host)).rejects.toThrow('fetch failed');
});

it('a machine without IPv6 lacks an address, which is another thing than one that is taken', () => {
  const failed = (code: string) => isMissing(Object.assign(new Error(code), { code }));
  expect(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EADDRINUSE', 'EACCES'].map(failed)).toEqual([
    true,
    true,
    false,
    false,
  ]);
});

describe('a port that is taken', () => {
  it('is refused, be it by another program or by such a server, and is had once that has left', async () => {
    const other = createServer().listen(0, HOST);
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port: others } = other.address() as AddressInfo;
    const { app, got } = open(0);
    const ours = await got;
    for (const port of [others, ours])
      await expect(open(port).got).rejects.toMatchObject({ code: 'EADDRINUSE' });
    await app.close();
    await expect(open(ours).got).resolves.toBe(ours);
  });

  it('is shared by those who are told to, where a system has that', async () => {
    for (const port of SPREADS ? [await open(0, true).got] : [])
      await expect(open(port, true).got).resolves.toBe(port);
  });
});
