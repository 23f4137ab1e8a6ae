import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { type ServerChange, ServerWatch } from '#shared/lanes/redis/server-watch.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { connectTo } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const [first, second] = await Promise.all([startTestRedis(), startTestRedis()]);
const portOf = (url: string): number => Number(new URL(url).port);

/** A connection whose answers are held back: what has been answered until now, and what lets it go. */
interface Held {
  text: string;
  release: () => void;
}

/** A name that leads to another server from now on; connections stay where they are. */
async function startName() {
  const sockets = new Set<Socket>();
  const name = { port: portOf(first.url), url: '', holds: false, held: [] as Held[] };
  const server = createServer((client) => {
    const service = connect(name.port, '127.0.0.1');
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        client.destroy();
        service.destroy();
      });
    }
    client.pipe(service);
    if (!name.holds) {
      service.pipe(client);
      return;
    }
    const held: Held = {
      text: '',
      release: () => {
        client.write(held.text);
        service.off('data', keep).pipe(client);
      },
    };
    const keep = (data: Buffer): void => {
      // From what the server says of itself on.
      if (held.text === '' && !data.includes('redis_version')) client.write(data);
      else held.text += data.toString();
    };
    service.on('data', keep);
    name.held.push(held);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  name.url = `redis://127.0.0.1:${(server.address() as AddressInfo).port}`;
  atFileEnd(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return name;
}

/** A process with a connection that writes and one that waits for what comes. */
async function startProcess() {
  const name = await startName();
  const changes: ServerChange[] = [];
  const server = new ServerWatch((change) => changes.push(change));
  const open = (use: 'patient' | 'blocking' | 'jobs') => {
    const client = connectRedis({ url: name.url, name: 'test', use, server }) as Redis;
    atFileEnd(() => client.disconnect());
    return client;
  };
  const [writer, reader] = [open('patient'), open('blocking')];
  await Promise.all([writer.ping(), reader.ping()]);
  return { name, changes, server, writer, reader, open };
}

const isOn = async (client: Redis, { url }: { url: string }): Promise<boolean> => {
  const port = /tcp_port:(\d+)/.exec(await client.info('server'))![1];
  return Number(port) === portOf(url);
};

/** Makes the first server a replica of the second, for as long as the test runs; returns what promotes it before. */
async function demoteFirst(): Promise<() => Promise<unknown>> {
  const client = connectTo(first.url);
  const promote = () => client.replicaof('NO', 'ONE');
  onTestFinished(async () => void (await promote()));
  await client.replicaof('127.0.0.1', portOf(second.url));
  return promote;
}

describe('the server that a process writes to', () => {
  it('a demoted server is left by every connection, for the one that the name leads to, and it is said once [survives.redis-demoted]', async () => {
    const { name, changes, server, writer, reader } = await startProcess();
    await server.write(writer, 'p');
    await demoteFirst();
    await expect(server.write(writer, 'p')).rejects.toThrow('READONLY');
    await expect(server.write(writer, 'p')).rejects.toThrow();
    expect(changes).toEqual([{ kind: 'lost', why: 'READONLY' }]);
    name.port = portOf(second.url);
    await until(() => changes.length === 2, 'it has found the other');
    expect(changes[1]).toEqual({ kind: 'found' });
    await server.write(writer, 'p');
    await until(() => isOn(reader, second), 'the reader has found it too');
    expect(changes).toHaveLength(2);
  });

  it('what a connection was told before another one found the server promoted is no second loss [survives.redis-demoted]', async () => {
    const { name, changes, server, writer, reader } = await startProcess();
    const promote = await demoteFirst();
    name.holds = true;
    await expect(server.write(writer, 'p')).rejects.toThrow('READONLY');
    await until(() => name.held.length === 2, 'both ask anew');
    await until(() => name.held.every(({ text }) => text.includes('role:slave')), 'are answered');
    name.holds = false;
    await promote();
    name.held[0]!.release();
    await until(() => changes.length === 2, 'one has found it promoted');
    name.held[1]!.release();
    await until(() => [writer, reader].every(({ status }) => status === 'ready'), 'both are back');
    expect(changes.map(({ kind }) => kind)).toEqual(['lost', 'found']);
    // A word that comes behind is believed, and a server that is lost again within a second is found again.
    const writes = (): Promise<boolean> =>
      server.write(writer, 'p').then(
        () => true,
        () => false,
      );
    const again = await demoteFirst();
    await until(async () => !(await writes()), 'it is demoted again');
    await again();
    await until(writes, 'it is promoted again');
    expect(changes.map(({ kind }) => kind)).toEqual(['lost', 'found', 'lost', 'found']);
  });

  it('connections that were left behind on a server that was replaced are made anew as soon as one has met the other [survives.redis-demoted]', async () => {
    const { name, changes, server, writer, reader } = await startProcess();
    name.port = portOf(second.url);
    expect([await isOn(writer, first), await isOn(reader, first)]).toEqual([true, true]);
    writer.disconnect(true);
    await until(() => isOn(reader, second), 'the reader has followed');
    expect(await isOn(writer, second)).toBe(true);
    expect(changes).toEqual([{ kind: 'replaced' }]);
    await server.write(writer, 'p');
  });

  it('the connection of jobs and the copies of it that BullMQ makes follow each other to another server [survives.redis-demoted]', async () => {
    const { name, open } = await startProcess();
    const jobs = open('jobs');
    const copy = jobs.duplicate({ connectionName: 'copy' });
    atFileEnd(() => copy.disconnect());
    await Promise.all([jobs.ping(), copy.ping()]);
    expect(await copy.client('GETNAME')).toBe('copy');
    name.port = portOf(second.url);
    copy.disconnect(true);
    await until(() => isOn(jobs, second), 'the connection has followed its copy');
    name.port = portOf(first.url);
    jobs.disconnect(true);
    await until(() => isOn(copy, first), 'the copy has followed');
  });

  it('a server that is replaced right after it was lost and found is left by every connection [survives.redis-demoted]', async () => {
    const { name, changes, server, writer, reader } = await startProcess();
    const old = connectTo(first.url);
    await old.replicaof('127.0.0.1', portOf(second.url));
    await expect(server.write(writer, 'p')).rejects.toThrow('READONLY');
    await old.replicaof('NO', 'ONE');
    expect([await isOn(writer, first), await isOn(reader, first)]).toEqual([true, true]);
    name.port = portOf(second.url);
    writer.disconnect(true);
    await until(() => isOn(reader, second), 'the reader has followed');
    expect(changes.map(({ kind }) => kind)).toEqual(['lost', 'found', 'replaced']);
  });

  it('a server that is a replica when a process starts is not written to until it is promoted [survives.redis-demoted]', async () => {
    const promote = await demoteFirst();
    const changes: ServerChange[] = [];
    const server = new ServerWatch((change) => changes.push(change));
    const client = connectRedis({
      url: first.url,
      name: 'test',
      use: 'patient',
      server,
    }) as Redis;
    atFileEnd(() => client.disconnect());
    await until(() => changes.length === 1, 'it is said');
    await expect(server.write(client, 'p')).rejects.toThrow('its role is slave');
    await promote();
    await client.set('a', '1');
    expect(changes).toEqual([{ kind: 'lost', why: 'its role is slave' }, { kind: 'found' }]);
  });
});
