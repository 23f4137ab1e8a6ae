import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { GracefulShutdown } from '#api/graceful-shutdown.ts';
import { listen } from '#api/listen.ts';
import { isMissing } from '#shared/kernel/localhost.ts';
import { HAS_IPV6 } from '#test/support/localhost.ts';

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
