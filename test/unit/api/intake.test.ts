import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { Gate, intake } from '#api/plugins/intake.ts';
import type { HeldRefusals } from '#api/plugins/held-refusals.ts';
import { answerClientError } from '#api/plugins/client-errors.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { exchange } from '#test/support/raw-http.ts';
import { until } from '#test/support/until.ts';

const MIB = 1_048_576;
const SMALL = 65_536;

const caller = (org: string, key = org): Credential =>
  ({ keyId: `key_${key}`, orgId: `org_${org}`, limits: PLAN_LIMITS.enterprise }) as Credential;

/** A gate for bodies of so many bytes, whose clock the test turns. */
function openGate(bodyBytesMax = MIB) {
  const clock = { ms: 0 };
  const gate = new Gate(bodyBytesMax, () => clock.ms);
  const gaveUp: string[] = [];
  /** Announces a body, of which so much has come; says with what it was refused. */
  const announce = (org: string, bytes: number, received = () => 0): string | undefined => {
    const fault = gate.refusal(caller(org), bytes);
    if (fault !== undefined) return fault.code;
    gate.hold(caller(org), { bytes, received, giveUp: () => gaveUp.push(org) });
    return undefined;
  };
  return { clock, announce, gaveUp };
}

const FOUR = ['a', 'b', 'c', 'd'];

it('a body that waits to be read is counted until it was, though its client has left, and one that is still to come is not [limits.intake]', () => {
  const gate = new Gate(MIB, () => 0);
  const body = { bytes: MIB, received: () => Infinity, giveUp: () => {} };
  const hold = () => gate.hold(caller('a'), body);
  const isFull = () => gate.refusal(caller('a'), MIB) !== undefined;
  const waiting: ReturnType<typeof hold>[] = [];
  while (!isFull()) waiting.push(hold());
  for (const one of waiting) one.keep();
  for (const one of waiting) one.leave();
  expect(isFull()).toBe(true);
  waiting.pop()!.release();
  expect(isFull()).toBe(false);
  const coming = hold();
  expect(isFull()).toBe(true);
  coming.leave();
  expect(isFull()).toBe(false);
});

it('large bodies that were announced and do not come give their places, the oldest first, when another needs them [limits.intake]', () => {
  const { clock, announce, gaveUp } = openGate();
  for (const org of FOUR) for (let i = 0; i < 2; i += 1) announce(org, MIB);
  expect(announce('other', MIB)).toBe('dispatch_unavailable');
  clock.ms = 2_001;
  expect(gaveUp).toEqual([]);
  expect(announce('other', MIB)).toBeUndefined();
  expect(gaveUp).toEqual(['a']);
});

it('large bodies that come keep their places, also when they are whole and wait to be read [limits.intake]', () => {
  const { clock, announce, gaveUp } = openGate();
  for (const org of FOUR) {
    announce(org, MIB, () => ((clock.ms - 1_000) / 1_000) * 32 * 1024);
    announce(org, MIB, () => Infinity);
  }
  clock.ms = 20_000;
  expect(announce('other', MIB)).toBe('dispatch_unavailable');
  expect(gaveUp).toEqual([]);
});

it('a large body that does not come keeps its place where that would not be room enough for the other [limits.intake]', () => {
  const { clock, announce, gaveUp } = openGate();
  const few = 2 * SMALL;
  announce('slow', few);
  announce('slower', few);
  for (let i = 0; i < 7; i += 1) announce(FOUR[i % 4]!, MIB, () => Infinity);
  announce('d', MIB - 2 * few, () => Infinity);
  clock.ms = 3_000;
  expect(announce('other', MIB)).toBe('dispatch_unavailable');
  expect(gaveUp).toEqual([]);
  expect(announce('other', 2 * few)).toBeUndefined();
  expect(gaveUp).toEqual(['slow', 'slower']);
});

it('a small body gets in beside any large ones and small ones of others on their way [limits.intake]', () => {
  const { announce, gaveUp } = openGate(20 * MIB);
  for (const org of FOUR) for (let i = 0; i < 2; i += 1) announce(org, 20 * MIB);
  expect(announce('other', MIB)).toBe('dispatch_unavailable');
  let taken = 0;
  for (let org = 0; org < 20; org += 1) {
    while (announce(`flood ${org}`, SMALL) === undefined) taken += 1;
    expect(announce(`beside ${org}`, SMALL)).toBeUndefined();
  }
  expect(taken).toBeGreaterThan(1_000);
  expect(gaveUp).toEqual([]);
});

it('a client that left while its key was looked up has no place among bodies on their way [limits.intake]', async () => {
  const app = Fastify({ bodyLimit: MIB });
  onTestFinished(() => app.close());
  app.decorateRequest('credential', null as unknown as Credential);
  const lookedUp = Promise.withResolvers<void>();
  const [allAsk, allLeft] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let [asking, left] = [0, 0];
  app.addHook('onRequest', async (request, { raw }) => {
    request.credential = caller('a');
    if (request.headers['x-key'] === 'known') return;
    raw.once('close', () => {
      left += 1;
      if (left === 8) allLeft.resolve();
    });
    asking += 1;
    if (asking === 8) allAsk.resolve();
    await lookedUp.promise;
  });
  await app.register(intake, {
    bodyBytesMax: MIB,
    held: { give: (_caller, _exchange, answer) => answer(0) },
  });
  app.post('/', { schema: { rawBody: {} } }, () => 'taken');
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const clients = Array.from({ length: 8 }, () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const head = `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${MIB}`;
    socket.write(`${head}\r\n\r\n{`);
    return socket;
  });
  await allAsk.promise;
  for (const client of clients) client.destroy();
  await allLeft.promise;
  lookedUp.resolve();
  const answer = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-key': 'known' },
    body: '{}',
  });
  expect([answer.status, await answer.text()]).toEqual([200, 'taken']);
});

it('the request of a body that gives its place is told that it was too slow, and its connection is closed [limits.intake]', async () => {
  const clock = { ms: 0 };
  const app = Fastify({
    bodyLimit: MIB,
    clientErrorHandler: (error, socket) => answerClientError(error, socket, () => 'req_x'),
  });
  onTestFinished(() => app.close());
  app.decorateRequest('credential', null as unknown as Credential);
  app.addHook('onRequest', (request, _reply, next) => {
    const org = String(request.headers['x-org']);
    request.credential = caller(org);
    next();
  });
  await app.register(intake, {
    bodyBytesMax: MIB,
    held: { give: (_caller, _exchange, answer) => answer(0) },
    now: () => clock.ms,
  });
  let begun = 0;
  const allBegun = Promise.withResolvers<void>();
  app.addHook('onRequest', (_request, _reply, next) => {
    begun += 1;
    if (begun === 8) allBegun.resolve();
    next();
  });
  app.post('/', { schema: { rawBody: {} } }, () => 'taken');
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const head = (org: string, bytes: number) =>
    `POST / HTTP/1.1\r\nhost: a\r\nx-org: ${org}\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: ${bytes}\r\n\r\n`;

  const still = FOUR.flatMap((org) => [org, org]).map((org) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(head(org, MIB));
    return socket;
  });
  await allBegun.promise;
  const said = Promise.race(still.map((socket) => once(socket, 'data')));
  clock.ms = 3_000;
  const [answer] = await exchange(port, [head('other', MIB), Buffer.alloc(MIB)]);
  expect(answer?.text).toBe('taken');
  const [text] = (await said) as [Buffer];
  expect(text.toString()).toMatch(/^HTTP\/1.1 408 [^]*"code":"request_timeout"/);
  for (const socket of still) socket.destroy();
});

it.each([
  ['its organisation', ['a', 'a', 'a'], 429],
  ['all', FOUR.flatMap((org) => [org, org]), 503],
])(
  'what is refused because too much is on its way of %s is told when it is its turn among the refusals of its organisation, with what is left to wait then [limits.intake]',
  async (_whose, before, status) => {
    let keys = 0;
    const app = Fastify({ bodyLimit: MIB });
    app.decorateRequest('credential', null as unknown as Credential);
    app.addHook('onRequest', (request, _reply, next) => {
      request.credential = caller(String(request.headers['x-org']), (keys += 1).toString());
      next();
    });
    app.setErrorHandler(({ status: code, retryAfterMs }: Fault, _request, reply) =>
      reply.code(code).send(String(retryAfterMs)),
    );
    const refusals: [caller: string, answer: (heldMs: number) => void][] = [];
    const give: HeldRefusals['give'] = (whose, _exchange, answer) => refusals.push([whose, answer]);
    await app.register(intake, { bodyBytesMax: MIB, held: { give }, now: () => 0 });
    const answering: (() => void)[] = [];
    app.post(
      '/',
      { schema: { rawBody: {} } },
      () => new Promise((answer) => answering.push(() => answer('taken'))),
    );
    const send = (org: string) =>
      app.inject({
        method: 'POST',
        url: '/',
        headers: { 'x-org': org, 'content-type': 'text/plain' },
        payload: Buffer.alloc(MIB),
      });
    const all = before.map(send);
    await until(() => answering.length === before.length);
    const refused = send('a');
    await until(() => refusals.length === 1);
    expect(refusals[0]![0]).toBe('org_a');
    refusals[0]![1](300);
    expect(await refused).toMatchObject({ statusCode: status, payload: '700' });
    for (const answer of answering) answer();
    expect((await Promise.all(all)).map(({ statusCode }) => statusCode)).toEqual(
      before.map(() => 200),
    );
  },
);
