import { setImmediate as turn } from 'node:timers/promises';
import { fastify } from 'fastify';
import { expect, it } from 'vitest';
import { Places } from '#api/plugins/places.ts';

it(
  'all that a leaving request makes room for go in, each in a place of another caller',
  { tags: ['limits.pages'] },
  async () => {
    const places = new Places<'address' | 'person'>({
      atOnce: { address: 1, person: 1 },
      atOnceOfAll: 10,
      waitingOfOne: 10,
      waitingOfAll: 10,
    });
    const answering = new Map<string, () => void>();
    const app = fastify();
    places.limit(app, ({ url }) => {
      const [, address = '', person = ''] = url.split('/');
      return [
        ['address', address],
        ['person', person],
      ];
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
  },
);
