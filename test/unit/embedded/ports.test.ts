import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { claimPort, holdPort, HOLDS_PORTS } from '#embedded/ports.ts';
import { HAS_IPV6 } from '#test/support/localhost.ts';

const HOST = '127.0.0.1';

const held: Server[] = [];
afterEach(() => {
  for (const server of held.splice(0)) server.close();
});

/** Listens until the test is over. */
async function hold(port: number, host = HOST): Promise<number> {
  const server = createServer();
  held.push(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return (server.address() as AddressInfo).port;
}

it('chooses no port that the system gives to a connection or to another server: who comes back finds it free', async () => {
  const range = await readFile('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').catch(
    () => '49152 65535',
  );
  const [from] = range.split(/\s+/).map(Number);
  const chosen = await Promise.all(Array.from({ length: 200 }, () => claimPort(HOST, 0)));
  expect(Math.max(...chosen)).toBeLessThan(from!);
  expect(Math.min(...chosen)).toBeGreaterThan(1023);
});

it('chooses another port where the first is taken', async () => {
  const [taken, free] = [await hold(await claimPort(HOST, 0)), await claimPort(HOST, 0)];
  const next = [taken, taken, free];
  expect(await claimPort(HOST, 0, () => next.shift()!)).toBe(free);
  expect(next).toEqual([]);
});

it('says what to do about a port that was asked for and is taken', async () => {
  const taken = await hold(0);
  await expect(claimPort(HOST, taken)).rejects.toThrow(
    `Port ${taken} on ${HOST} is in use; stop what uses it, or choose another with PORT=…`,
  );
});

it('a port is free for localhost where it is by both families: a browser may take either', async () => {
  const taken = await hold(await claimPort('localhost', 0), HAS_IPV6 ? '::1' : HOST);
  await expect(claimPort('localhost', taken)).rejects.toThrow(
    `Port ${taken} on ${HAS_IPV6 ? '::1' : HOST} is in use`,
  );
});

it('a port is kept for the process that it was claimed for, where a system has that, and turns away what connects', async () => {
  for (const port of HOLDS_PORTS ? [await claimPort('localhost', 0)] : []) {
    const release = await holdPort('localhost', port);
    await expect(claimPort('localhost', port)).rejects.toThrow('is in use');
    await expect(fetch(`http://${HOST}:${port}/`)).rejects.toThrow('fetch failed');
    const ours = createServer();
    held.push(ours);
    await new Promise<void>((resolve) =>
      ours.listen({ host: HOST, port, reusePort: true }, resolve),
    );
    release();
    expect(() => release()).not.toThrow();
    const { promise: came, resolve } = Promise.withResolvers<void>();
    ours.once('connection', (socket) => {
      socket.destroy();
      resolve();
    });
    connect(port, HOST).on('error', () => {});
    await came;
  }
});
