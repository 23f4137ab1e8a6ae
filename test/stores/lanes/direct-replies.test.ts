import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Redis } from 'ioredis';
import fc from 'fast-check';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { afterEvent, begun, type ExchangeState } from '#api/inference/exchange/states.ts';
import {
  apiPlace,
  CHALLENGE_BYTES,
  encodeText,
  Pieces,
  PROOF_BYTES_MAX,
  workerPlace,
} from '#shared/lanes/direct-replies.ts';
import { aliveKey, begunKey, inboxKey, inferenceLane } from '#shared/lanes/keys.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';
import { Outbox } from '#shared/lanes/redis/outbox.ts';
import { decodeRelayed, type Relayed } from '#shared/lanes/relayed.ts';
import { newAddress, pathOf } from '#shared/lanes/sockets/address.ts';
import { ReplyChannels } from '#shared/lanes/sockets/reply-channels.ts';
import { ReplyListener } from '#shared/lanes/sockets/reply-listener.ts';
import type { RedisServer } from '#embedded/stores/redis.ts';
import { Replies } from '#workers/inference/replies.ts';
import { SEED } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { admissionRequest, connectTo, deliverTo, takeOver } from '#test/support/lanes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { newLaneKey, testSeals } from '#test/support/seals.ts';
import { until } from '#test/support/until.ts';

const LANE = inferenceLane(0, 'eu-west');
let server: RedisServer;
let client: Redis;
const open: (() => Promise<unknown> | void)[] = [];

beforeAll(async () => {
  server = await startTestRedis();
  client = connectTo(server.url);
});
beforeEach(async () => {
  await client.flushall();
});
afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close();
});

const fail = (error: unknown): void => {
  throw error;
};

interface Heard {
  /** What the client of each request was sent, and how it ended. */
  text: Map<string, string>;
  ends: Map<string, string>;
  replies: Reply[];
}

/** An api process: it has an inbox, and listens unless it says otherwise. */
async function apiProcess({ seals = testSeals(), address = '' } = {}) {
  const processId = `api-${newAddress().slice(-8)}`;
  const heard: Heard = { text: new Map(), ends: new Map(), replies: [] };
  const states = new Map<string, ExchangeState>();
  const take = (reply: Reply, payload: string): void => {
    heard.replies.push(reply);
    const { entry } = admissionRequest({ id: reply.id });
    const [state, acts] = afterEvent(states.get(reply.id) ?? begun(entry), {
      kind: 'reply',
      reply,
      payload,
    });
    states.set(reply.id, state);
    for (const act of acts) {
      if (act.do === 'send')
        heard.text.set(reply.id, (heard.text.get(reply.id) ?? '') + act.frames);
      if (act.do === 'answer') heard.ends.set(reply.id, act.payload);
      if (act.do === 'refuse') heard.ends.set(reply.id, act.fault.message);
    }
  };
  const inbox = new Inbox<Reply>(
    connectTo(server.url, 'blocking'),
    processId,
    testSeals(),
    take,
    fail,
  );
  const errors: unknown[] = [];
  const listener = new ReplyListener({
    processId,
    seals,
    onReply: take,
    onError: (error) => errors.push(error),
  });
  await listener.start();
  const liveness = new Liveness(client, processId, {
    lastRead: () => inbox.lastRead,
    address: address === '' ? listener.address : address,
  });
  await liveness.start();
  inbox.start();
  open.push(
    () => inbox.stop(),
    () => liveness.stop(),
  );
  let isListening = true;
  const stopListening = async (): Promise<void> => {
    if (isListening) await listener.stop();
    isListening = false;
  };
  open.push(stopListening);
  /** Entries that its inbox has had, without the greeting. */
  const inInbox = async (): Promise<number> => {
    const fields = (await client.xinfo('STREAM', inboxKey(processId))) as unknown[];
    const added = fields[fields.indexOf('entries-added') + 1];
    return Number(added) - 1;
  };
  return { processId, heard, errors, address: listener.address, stopListening, inInbox };
}

/** A worker's outbox, which has looked for the process once. */
function worker({ seals = testSeals(), redis = client } = {}) {
  const errors: unknown[] = [];
  const outbox = new Outbox(
    redis,
    testSeals(),
    fail,
    (onBroken) =>
      new ReplyChannels({ client, seals, onBroken, onError: (error) => errors.push(error) }),
  );
  open.push(() => outbox.close());
  return { outbox, errors };
}

const frames = (id: string, seq: number): Reply => ({ id, attempt: 1, seq, kind: 'frames' });

describe('replies without Redis', () => {
  it('frames of a stream that has begun by a channel, and its receipt, leave no entry in the inbox', async () => {
    const { processId, heard, inInbox } = await apiProcess();
    const { outbox } = worker();
    await until(() => outbox.channelTo(processId) !== undefined);
    const channel = outbox.channelTo(processId);
    const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
    const note = outbox.asHolder(delivery);
    note.command('SET', '{s0}:begun:a', 'noted');
    note.send(processId, frames('a', 1), 'one ', channel);
    await outbox.flushed();
    outbox.send(processId, frames('a', 2), 'two', channel);
    await outbox.settled();
    expect(await inInbox()).toBe(0);
    const end = outbox.asHolder(delivery);
    end.send(processId, { id: 'a', attempt: 1, seq: 3, kind: 'last' }, 'the end');
    end.send(processId, { id: 'a', attempt: 1, kind: 'receipt' }, 'the receipt');
    end.done();
    await until(() => heard.ends.has('a'));
    expect([heard.text.get('a'), heard.ends.get('a')]).toEqual(['one two', 'the end']);
    expect(await inInbox()).toBe(1);
  });

  it('frames that stand beside a note are not sent where another worker has the entry [survives.stopped-worker]', async () => {
    const { processId, heard } = await apiProcess();
    const { outbox } = worker();
    await until(() => outbox.channelTo(processId) !== undefined);
    const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
    await takeOver(client, delivery, 'other');
    const note = outbox.asHolder(delivery);
    note.send(processId, frames('a', 1), 'one', outbox.channelTo(processId));
    expect(await note.written).toBe('taken');
    await outbox.settled();
    expect(heard.replies).toEqual([]);
  });

  it('however often connections are cut, each client gets all of its stream, in order and once [survives.reply-connection]', async () => {
    const scenario = fc.record({
      streams: fc.integer({ min: 1, max: 8 }),
      turns: fc.array(fc.array(fc.nat(7), { minLength: 1, maxLength: 12 }), { maxLength: 12 }),
      cutAt: fc.nat(12),
    });
    const play = async ({
      streams,
      turns,
      cutAt,
    }: {
      streams: number;
      turns: number[][];
      cutAt: number;
    }): Promise<void> => {
      const { processId, heard, stopListening } = await apiProcess();
      const { outbox } = worker();
      await until(() => outbox.channelTo(processId) !== undefined);
      const channel = outbox.channelTo(processId);
      const sent = new Map<string, string[]>();
      const say = (nth: number): void => {
        const id = `req_${nth % streams}`;
        const own = sent.get(id) ?? [];
        sent.set(id, own);
        own.push(`${own.length} `);
        outbox.send(processId, frames(id, own.length), own.at(-1), channel);
      };
      let cut: Promise<void> | undefined;
      for (const [i, turn] of turns.entries()) {
        turn.forEach(say);
        if (i === cutAt) cut = stopListening();
        else if (i % 2 === 0) await outbox.flushed();
      }
      await cut;
      for (const [id, own] of sent) {
        const end: Reply = { id, attempt: 1, seq: own.length + 1, kind: 'last' };
        outbox.send(processId, end, `end of ${id}`);
        outbox.send(processId, { id, attempt: 1, kind: 'receipt' }, 'the receipt');
      }
      await until(() => heard.ends.size === sent.size);
      for (const [id, own] of sent)
        expect([heard.text.get(id), heard.ends.get(id)]).toEqual([own.join(''), `end of ${id}`]);
    };
    await forAllAsync([scenario], { numRuns: 12, seed: SEED }, play);
  });

  it('what a worker has said when it stops is with its process, or in its inbox', async () => {
    const { processId, heard, stopListening } = await apiProcess();
    const { outbox } = worker();
    await until(() => outbox.channelTo(processId) !== undefined);
    const channel = outbox.channelTo(processId);
    await stopListening();
    outbox.send(processId, frames('a', 1), 'one', channel);
    await outbox.settled();
    await until(() => heard.text.size > 0);
    expect(heard.text.get('a')).toBe('one');
  });
});

/** Where a process listens that proves itself and then stands still, reading nothing. */
async function standingStill(processId: () => string): Promise<string> {
  const address = newAddress();
  const still = createServer((socket) => {
    const pieces = new Pieces();
    socket.on('error', () => {});
    socket.on('data', (piece: Buffer) => {
      pieces.add(piece);
      const proof = pieces.takeFrame(PROOF_BYTES_MAX)?.toString('latin1');
      if (proof === undefined) return;
      const opened = testSeals().open(proof, workerPlace(processId(), address));
      const theirs = Buffer.from(opened, 'base64').subarray(CHALLENGE_BYTES).toString('base64');
      socket.pause();
      socket.write(encodeText(testSeals().seal(theirs, apiPlace(processId(), address))));
    });
    socket.write(Buffer.alloc(CHALLENGE_BYTES));
  });
  still.listen({ path: pathOf(address)! });
  await once(still, 'listening');
  open.push(() => void still.close());
  return address;
}

it('a worker that dies once the end of a stream is written leaves no frame of it untold, where its process stands still [survives.reply-connection]', async () => {
  let named = '';
  const address = await standingStill(() => named);
  const { processId, heard } = await apiProcess({ address });
  named = processId;
  const { outbox } = worker();
  await until(() => outbox.channelTo(processId) !== undefined);
  const long = 'a'.repeat(2 ** 20);
  outbox.send(processId, frames('a', 1), long, outbox.channelTo(processId));
  const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
  const end = outbox.asHolder(delivery);
  end.send(processId, { id: 'a', attempt: 1, seq: 2, kind: 'last' }, 'the end');
  end.send(processId, { id: 'a', attempt: 1, kind: 'receipt' }, 'the receipt');
  end.done();
  expect(await end.written).toBe('held');
  outbox.close();
  await until(() => heard.ends.has('a'));
  expect(heard.text.get('a') === long).toBe(true);
  expect(heard.ends.get('a')).toBe('the end');
});

it('a worker that dies once it has noted how far a stream is has sent all that the note is of [survives.inference-worker]', async () => {
  const { processId, heard } = await apiProcess();
  let isDead = false;
  const never = new Promise<never>(() => {});
  /** What Redis says to a script comes too late for this worker. */
  const dying = connectTo(server.url);
  const call = dying.evalsha.bind(dying) as (...args: unknown[]) => Promise<unknown>;
  const evalsha = (...args: unknown[]): Promise<unknown> =>
    call(...args).then((said) => (isDead ? never : said));
  Object.assign(dying, { evalsha });
  const { outbox } = worker({ redis: dying });
  await until(() => outbox.channelTo(processId) !== undefined);
  const delivery = await deliverTo(client, { lane: LANE, consumer: 'w' });
  const { entry } = admissionRequest({ id: 'a', stream: true, inbox: processId });
  const replies = new Replies({ outbox, client, seals: testSeals() }, entry, delivery);
  const upTo = (payloads: number) => (): Relayed => ({
    payloads,
    tokens: payloads,
    digest: 'd',
    calls: 1,
    queuedMs: 0,
  });
  replies.frames('one ', upTo(1), 1_000);
  await until(() => heard.text.has('a'));
  isDead = true;
  replies.frames('two', upTo(2), 3_000);
  await until(async () => {
    const noted = await client.get(begunKey(0, 'a'));
    return noted !== null && decodeRelayed(noted).payloads === 2;
  });
  outbox.close();
  await until(() => heard.text.get('a') === 'one two');
  expect(heard.text.get('a')).toBe('one two');
});

describe('a connection for replies', () => {
  const byInbox = async (outbox: Outbox, processId: string, heard: Heard): Promise<void> => {
    outbox.send(processId, frames('a', 1), 'by the inbox', outbox.channelTo(processId));
    await until(() => heard.text.get('a') === 'by the inbox');
  };

  it('a worker tells nothing to a listener that does not hold its lane keys, and is not heard by one', async () => {
    const { processId, heard, errors } = await apiProcess({ seals: testSeals(newLaneKey()) });
    const { outbox } = worker();
    outbox.channelTo(processId);
    await until(() => errors.length > 0);
    await byInbox(outbox, processId, heard);
    expect(outbox.channelTo(processId)).toBe(undefined);
  });

  it('proofs that are passed on by a process in between are refused', async () => {
    const between = newAddress();
    let listens = '';
    const relay = createServer((near) => {
      const far = connect({ path: pathOf(listens)! });
      near.pipe(far).pipe(near);
      near.on('error', () => {});
      far.on('error', () => {});
    });
    relay.listen({ path: pathOf(between)! });
    await once(relay, 'listening');
    open.push(() => void relay.close());
    const { processId, heard, errors, address } = await apiProcess({ address: between });
    listens = address;
    const { outbox } = worker();
    outbox.channelTo(processId);
    await until(() => errors.length > 0);
    await byInbox(outbox, processId, heard);
    expect(outbox.channelTo(processId)).toBe(undefined);
  });

  it('a process that listens nowhere is told by its inbox', async () => {
    const { processId, heard } = await apiProcess({ address: '1' });
    const { outbox } = worker();
    outbox.channelTo(processId);
    await byInbox(outbox, processId, heard);
    expect(await client.get(aliveKey(processId))).toBe('1');
  });
});
