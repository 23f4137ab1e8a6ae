import { fastify } from 'fastify';
import { expect, it, vi } from 'vitest';
import { Form, takeForms } from '#api/dashboard/forms.ts';

it('a form of more fields than any of ours is refused before it is parsed, and the largest of ours is taken [dashboard.odd-requests]', async () => {
  const parsed = vi.spyOn(globalThis, 'URLSearchParams');
  const app = fastify();
  takeForms(app);
  app.post('/', ({ body }) => ({ fields: (body as Form).entries().length }));
  const send = async (payload: string): Promise<[number, unknown]> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const answer = await app.inject({ method: 'POST', url: '/', headers, payload });
    return [answer.statusCode, answer.json<{ fields?: number }>().fields];
  };
  for (const flood of ['a&'.repeat(32_768), 'a=1&'.repeat(16_384), '&'.repeat(65_536)])
    expect(await send(flood)).toEqual([400, undefined]);
  expect(parsed).not.toHaveBeenCalled();
  parsed.mockRestore();
  expect(await send('a=1&'.repeat(999))).toEqual([200, 999]);
});
