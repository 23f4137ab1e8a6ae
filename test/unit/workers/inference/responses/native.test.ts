import { describe, expect, it } from 'vitest';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { asOurs, NativeStream } from '#workers/inference/responses/native.ts';
import { UpstreamError } from '#workers/inference/providers/upstream-failure.ts';
import { readUsage } from '#workers/inference/usage.ts';

const OURS = { id: 'resp_01', model: 'm' };
const NOT_KNOWN: UnknownUsage = { source: 'unknown', reason: 'not_counted' };

/** What a caller reads of a response whose server says this of its usage, whole and in the last event of a stream. */
function told(theirs: object, usage: Usage | UnknownUsage): unknown[] {
  const response = { id: 'resp_up', model: 'up', status: 'completed', output: [], usage: theirs };
  const whole = asOurs(JSON.stringify(response), response, OURS, usage);
  const options = { emit: () => {}, model: OURS.model, requestId: 'req_01' };
  const stream = new NativeStream(options, undefined);
  const event = { type: 'response.completed', response };
  stream.accept(JSON.stringify(event), event);
  const last = JSON.parse(stream.finish(usage)) as { response: { usage: unknown } };
  return [(JSON.parse(whole) as { usage: unknown }).usage, last.response.usage];
}

it('a stream that announces a response again and again fails, so that nothing gathers', () => {
  const stream = new NativeStream({ emit: () => {}, model: 'm', requestId: 'req_01' }, undefined);
  const event = { type: 'response.in_progress', response: { id: 'r' } };
  expect(() => {
    for (let i = 0; i < 100; i += 1) stream.accept(JSON.stringify(event), event);
  }).toThrow(UpstreamError);
});

it('an item of very many parts is told as far as it came in a moment, its parts in their order', () => {
  const stream = new NativeStream({ emit: () => {}, model: 'm', requestId: 'req_01' }, undefined);
  const take = (event: Record<string, unknown>): boolean => stream.accept('', event);
  const item = { type: 'message', content: [{ type: 'output_text', text: 'first' }] };
  take({ type: 'response.output_item.added', output_index: 0, item });
  const type = 'response.output_text.delta';
  for (let at = 0; at < 200_000; at += 1)
    take({ type, output_index: 0, content_index: at, delta: String(at) });
  const [made] = stream.output() as [{ status: string; content: { text: string }[] }];
  expect(made.status).toBe('incomplete');
  expect(made.content.slice(0, 3).map(({ text }) => text)).toEqual(['first', '0', '1']);
  expect(made.content).toHaveLength(200_001);
});

describe('usage in the response of a server that speaks responses', () => {
  it('says what the receipt says, sums and cached parts too, and else what its server says', () => {
    const theirs = {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 8, audio_tokens: 1 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 99,
    };
    const says = { ...theirs, total_tokens: 13 };
    expect(told(theirs, readUsage(theirs)!)).toEqual([says, says]);
  });

  it('has the names of responses where its server has those of chats', () => {
    const theirs = { prompt_tokens: 9, completion_tokens: 4 };
    const says = { input_tokens: 9, output_tokens: 4, total_tokens: 13 };
    expect(told(theirs, readUsage(theirs)!)).toMatchObject([says, says]);
  });

  it('is null where the receipt says that it is not known', () => {
    const theirs = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };
    expect(told(theirs, NOT_KNOWN)).toEqual([null, null]);
  });
});
