import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { type Answered, noteAdmitted, noteAsked, tellOfAnswers } from '#api/plugins/answered.ts';
import { Fault } from '#shared/kernel/errors.ts';

it.each([
  [undefined, true],
  [new Fault('upstream_error', { hasReceipt: true }), true],
  [new Fault('prompt_too_long', { message: 'Too long.' }), false],
])(
  'what ran has a receipt, but for what its upstream has refused, also where a stream says so: %s',
  async (fault, hasReceipt) => {
    const { promise, resolve } = Promise.withResolvers<Answered>();
    const app = Fastify();
    for (const name of ['fault', 'inference', 'credential', 'span', 'arrivedAt'])
      app.decorateRequest(name, null);
    tellOfAnswers(app, resolve);
    app.get('/', (request, reply) => {
      noteAsked(request, 'small', { stream: true });
      noteAdmitted(request, { region: () => 'eu', replayOf: undefined });
      request.fault = fault ?? null;
      return reply.send('event: response.failed\n\n');
    });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    await (await fetch(url)).text();
    await app.close();
    expect(await promise).toMatchObject({ status: 200, hasReceipt });
  },
);
