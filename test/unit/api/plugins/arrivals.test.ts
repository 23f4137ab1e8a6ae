import { once } from 'node:events';
import { type AddressInfo, connect, createServer as createDoor, type Server } from 'node:net';
import { createServer } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Arrivals, beginInOrder } from '#api/plugins/arrivals.ts';
import { Turns } from '#api/plugins/turns.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { until } from '#test/support/until.ts';

/** Those who connect, and what has begun, in order. */
function arriving() {
  const clock = { ms: 0 };
  const arrivals = new Arrivals(() => clock.ms);
  const begun: string[] = [];
  const gone = new Set<string>();
  const arrive = (name: string): void => {
    const [caller = ''] = name.split('-');
    const begin = (): boolean => !gone.has(name) && begun.push(name) > 0;
    if (arrivals.take(caller, begin)) begun.push(name);
  };
  /** One of the caller in each turn, as the event loop takes them. */
  const flood = async (caller: string, count: number): Promise<void> => {
    for (let at = 0; at < count; at += 1) {
      arrive(`${caller}-${at}`);
      await turn();
    }
  };
  return { clock, arrivals, begun, gone, arrive, flood };
}

describe('connections [limits.connections]', () => {
  it('begin at once where they come alone', async () => {
    const { arrivals, begun, arrive } = arriving();
    for (const name of ['a-0', 'b-0', 'a-1']) {
      arrive(name);
      expect(begun.at(-1)).toBe(name);
      // Two turns: one that took it, and one that took none. What it asks is begun in either.
      for (let turns = 0; turns < 2; turns += 1) {
        expect(arrivals.areTaken()).toBe(false);
        await turn();
      }
    }
  });

  it('that come one behind the other are taken first, then begin four in a turn, callers one after the other', async () => {
    const { arrivals, begun, arrive, flood } = arriving();
    await flood('many', 40);
    arrive('other-0');
    expect(begun).toEqual(['many-0']);
    expect(arrivals.areTaken()).toBe(true);
    await turn();
    expect(arrivals.areTaken()).toBe(true);
    for (let turns = 0; begun.length < 41; turns += 1) {
      const before = begun.length;
      await turn();
      expect(begun.length - before).toBeLessThanOrEqual(4);
      expect(turns).toBeLessThan(12);
    }
    expect(begun.slice(0, 4)).toEqual(['many-0', 'many-1', 'other-0', 'many-2']);
    expect(begun.filter((name) => name !== 'other-0')).toEqual(
      Array.from({ length: 40 }, (_, at) => `many-${at}`),
    );
    await turn();
    expect(arrivals.areTaken()).toBe(false);
  });

  it('that never end leave others eight turns of 264', async () => {
    const { arrivals, begun, arrive } = arriving();
    let ofOthers = 0;
    const rounds = 3;
    for (let at = 0; at < rounds * 264; at += 1) {
      arrive(`many-${at}`);
      await turn();
      if (!arrivals.areTaken()) ofOthers += 1;
    }
    expect(ofOthers).toBe(rounds * 8);
    // Those begin too meanwhile; the first of these turns was that of the first connection.
    expect(begun).toHaveLength(1 + (ofOthers - 1) * 4);
  });

  it('hold up others no longer than 30 ms at once, however long a turn is', async () => {
    const { clock, arrivals, arrive } = arriving();
    let heldMs = 0;
    let longestMs = 0;
    for (let at = 0; at < 100; at += 1) {
      arrive(`many-${at}`);
      await turn();
      clock.ms += 10;
      heldMs = arrivals.areTaken() ? heldMs + 10 : 0;
      longestMs = Math.max(longestMs, heldMs);
    }
    expect(longestMs).toBe(40);
  });

  it('of a caller that is paced begin one in 100 ms for ten seconds, those of others as ever', async () => {
    const { clock, arrivals, begun, gone, arrive } = arriving();
    arrivals.pace('slow');
    for (const name of ['slow-0', 'slow-1', 'slow-2', 'slow-3', 'other-0']) arrive(name);
    // One that has left meanwhile takes the turn of none.
    gone.add('slow-1');
    await until(() => begun.length === 1);
    expect(begun).toEqual(['other-0']);
    for (const name of ['slow-0', 'slow-2', 'slow-3']) {
      clock.ms += 99;
      arrive('other-1');
      await until(() => begun.at(-1) === 'other-1');
      clock.ms += 1;
      await until(() => begun.at(-1) === name);
    }
    clock.ms = 10_000;
    for (let at = 4; at < 7; at += 1) arrive(`slow-${at}`);
    await until(() => begun.at(-1) === 'slow-6');
    expect(begun.slice(-3)).toEqual(['slow-4', 'slow-5', 'slow-6']);
  });

  it('hold up requests that wait for their turn while they are taken, and no longer', async () => {
    const { arrivals, flood } = arriving();
    const turns = new Turns(() => arrivals.areTaken());
    const begun: number[] = [];
    const ask = (name: number): void => {
      if (turns.take('a', () => begun.push(name))) begun.push(name);
    };
    ask(0);
    await flood('many', 10);
    ask(1);
    await flood('many', 10);
    expect(begun).toEqual([0]);
    await turn();
    ask(2);
    await turn();
    await turn();
    expect(begun).toEqual([0, 1, 2]);
  });
});

describe.each([
  ['of the server itself', (server: Server) => server],
  [
    'that another door brings it',
    (server: Server) =>
      createDoor({ allowHalfOpen: true, noDelay: true }, (socket) =>
        server.emit('connection', socket),
      ),
  ],
])('connections %s [limits.connections]', (_whose, doorOf) => {
  it('are each answered what they asked, however many come at once; none is read before it begins', async () => {
    const waiting: string[] = [];
    const begins: (() => boolean)[] = [];
    const server = createServer(({ url = '' }, response) => {
      waiting.push(url);
      response.end(url);
    });
    const door = doorOf(server);
    const arrivals = new Arrivals();
    beginInOrder(server, {
      take: (caller, begin) => {
        expect(caller).toBe('127.0.0.1');
        if (begins.length >= 20) return arrivals.take(caller, begin);
        begins.push(begin);
        return false;
      },
    });
    door.listen(0, '127.0.0.1');
    await once(door, 'listening');
    atFileEnd(() => new Promise((resolve) => void door.close(resolve)));
    const { port } = door.address() as AddressInfo;
    const texts = await Promise.all(
      Array.from({ length: 120 }, async (_, at) => {
        const socket = connect(port, '127.0.0.1');
        const client = { socket, text: '' };
        socket.on('data', (data) => {
          client.text += data.toString();
        });
        await once(socket, 'connect');
        socket.write(`GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`.repeat(3));
        return client;
      }),
    );
    const count = ({ text }: { text: string }): number => text.split('200 OK').length - 1;
    await until(() => texts.filter((client) => count(client) === 3).length === 100);
    expect([begins.length, waiting.length]).toEqual([20, 300]);
    for (const begin of begins) begin();
    await until(() => texts.every((client) => count(client) === 3));
    for (const { socket } of texts) socket.destroy();
  });
});
