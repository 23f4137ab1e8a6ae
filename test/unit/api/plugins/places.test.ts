import { setImmediate as turn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { Places } from '#api/plugins/places.ts';
import type { Fault } from '#shared/kernel/errors.ts';

it('all that a leaving request makes room for go in, each in a place of another caller [limits.pages]', async () => {
  const places = new Places<'address' | 'person'>({
    atOnce: { address: 1, person: 1 },
    atOnceOfAll: 10,
    waitingOfOne: 10,
    waitingOfAll: 10,
  });
  const answering = new Map<string, () => void>();
  const app = fastify();
  places.limit(app, {
    callersOf: ({ url }) => {
      const [, address = '', person = ''] = url.split('/');
      return [
        ['address', address],
        ['person', person],
      ];
    },
  });
  app.get('/:address/:person', async ({ url }) => {
    await new Promise<void>((answer) => answering.set(url, answer));
    return '';
  });
  const ask = async (url: string): Promise<number> => (await app.inject({ url })).statusCode;
  const all = [ask('/here/ada'), ask('/here/bob'), ask('/there/ada'), ask('/there/ada')];
  const untilInside = async (count: number): Promise<void> => {
    while (answering.size < count) await turn();
    // What else was let in would be there by now.
    for (let i = 0; i < 10; i += 1) await turn();
  };
  await untilInside(1);
  expect([...answering.keys()]).toEqual(['/here/ada']);
  answering.get('/here/ada')!();
  await untilInside(3);
  expect([...answering.keys()]).toEqual(['/here/ada', '/here/bob', '/there/ada']);
  answering.get('/here/bob')!();
  const first = answering.get('/there/ada')!;
  first();
  while (answering.get('/there/ada') === first) await turn();
  answering.get('/there/ada')!();
  expect(await Promise.all(all)).toEqual([200, 200, 200, 200]);
});

it.each([
  ['of its caller', { waitingOfOne: 1, waitingOfAll: 9 }, 429],
  ['of all', { waitingOfOne: 9, waitingOfAll: 1 }, 503],
])(
  'what is refused because too many wait, %s, is told when it is its turn among the refusals of its caller, with what is left to wait then [limits.reads]',
  async (_whose, waiting, status) => {
    const places = new Places({ atOnce: { organisation: 1 }, atOnceOfAll: 9, ...waiting });
    const app = fastify();
    app.setErrorHandler(({ status: code, retryAfterMs }: Fault, _request, reply) =>
      reply.code(code).send(String(retryAfterMs)),
    );
    const refusals: [caller: string, answer: (heldMs: number) => void][] = [];
    places.limit(app, {
      callersOf: () => [['organisation', 'org_1']],
      held: { give: (caller, _exchange, answer) => refusals.push([caller, answer]) },
    });
    const answering: (() => void)[] = [];
    app.get('/', () => new Promise((answer) => answering.push(() => answer(''))));
    const all = Array.from({ length: 3 }, () => app.inject('/'));
    while (refusals.length === 0) await turn();
    expect([answering.length, refusals.length, refusals[0]![0]]).toEqual([1, 1, 'org_1']);
    refusals[0]![1](300);
    expect(await Promise.race(all)).toMatchObject({ statusCode: status, payload: '700' });
    answering[0]!();
    while (answering.length < 2) await turn();
    answering[1]!();
    await Promise.all(all);
  },
);
