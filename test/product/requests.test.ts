import { expect, it } from 'vitest';
import { chatBody, post } from '#test/support/calls.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

const system = await joinProduct();

interface Found {
  id: string;
  [name: string]: unknown;
}

const read = async (path: string): Promise<Found> => {
  const headers = { authorization: `Bearer ${system.key}` };
  return (await (await fetch(`${system.baseUrl}${path}`, { headers })).json()) as Found;
};

it('a chat, a stream, a replay and a refusal are found by their ids within seconds, with the figures that their answers and receipts have [requests.found, requests.record]', async () => {
  const ask = async (body: object, headers: Record<string, string> = {}) => {
    const answer = await post(system, '/chat/completions', chatBody(body), { headers });
    const text = await answer.text();
    return {
      id: answer.headers.get('x-request-id')!,
      receipt: answer.headers.get('x-receipt-id'),
      text,
    };
  };
  const headers = { 'idempotency-key': 'one of this test' };
  const whole = await ask({ max_tokens: 7 }, headers);
  const replay = await ask({ max_tokens: 7 }, headers);
  const stream = await ask({ stream: true, max_tokens: 7 });
  const refused = await ask({ temperature: 9, model: 'llama-3.1-8b' });
  const unknown = await ask({ model: 'no-such-model' });
  const all = [whole, replay, stream, refused, unknown];
  await until(async () => {
    const { data } = (await read('/requests?limit=50')) as unknown as { data: Found[] };
    return all.every(({ id }) => data.some((one) => one.id === id));
  }, 'every request is on record');
  const rowOf = ({ id }: { id: string }) => read(`/requests/${id}`);
  const { usage } = JSON.parse(whole.text) as { usage: Record<string, number> };
  const ran = {
    object: 'request',
    route: 'POST /v1/chat/completions',
    status: 200,
    code: null,
    model: 'llama-3.1-8b',
    requested_model: null,
    region: expect.any(String),
    network: '127.0.0.1',
    input_tokens: usage['prompt_tokens'],
    output_tokens: usage['completion_tokens'],
    requests: 1,
  };
  const times = {
    queued_ms: expect.any(Number),
    total_ms: expect.any(Number),
    upstream_calls: 1,
  };
  expect(await rowOf(whole)).toMatchObject({
    ...ran,
    ...times,
    stream: false,
    first_ms: null,
    receipt_id: whole.receipt,
    replayed: false,
  });
  expect(await rowOf(replay)).toMatchObject({
    ...ran,
    model: 'llama-3.1-8b',
    receipt_id: whole.receipt,
    replayed: true,
    upstream_calls: null,
  });
  const streamed = await rowOf(stream);
  expect(streamed).toMatchObject({ ...ran, ...times, stream: true, receipt_id: stream.receipt });
  const [queued, first, total] = [
    streamed['queued_ms'],
    streamed['first_ms'],
    streamed['total_ms'],
  ];
  // Two clocks of one machine, each rounded.
  expect(Number(queued)).toBeLessThanOrEqual(Number(first) + 2);
  expect(Number(first)).toBeLessThanOrEqual(Number(total));
  const nothing = { input_tokens: null, receipt_id: null, upstream_calls: null, region: null };
  expect(await rowOf(refused)).toMatchObject({
    ...nothing,
    status: 400,
    code: 'invalid_temperature',
  });
  expect(await rowOf(unknown)).toMatchObject({
    ...nothing,
    status: 400,
    code: 'invalid_model',
    model: null,
    requested_model: 'no-such-model',
  });
  const failed = (await read('/requests?status=failed')) as unknown as { data: Found[] };
  expect(failed.data.map(({ id }) => id).toSorted()).toEqual([refused.id, unknown.id].toSorted());
});
