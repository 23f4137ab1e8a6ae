import { describe, expect, it } from 'vitest';
import { NativeStream } from '#workers/inference/responses/native.ts';
import {
  answers,
  asTold,
  completion,
  delivery,
  ScriptedProvider,
  streams,
  workerWith,
} from './doubles.ts';

/** What another gateway of this kind puts into its answers, or a server that means harm. */
const THEIRS = { id: 'https://other.example/receipts/rcpt_1', proof: {} };
const withTheirs = (text: string): string =>
  `{"receipt":${JSON.stringify(THEIRS)},${text.slice(1, -1)},"rece\\u0069pt":0}`;

describe('a receipt in the answer of an upstream', () => {
  it('is left out of a whole answer, and every other byte stays', async () => {
    const plain = completion({ prompt_tokens: 1, completion_tokens: 1 });
    const one = delivery();
    const { run, outbox } = workerWith(new ScriptedProvider(answers(withTheirs(plain))));
    await run(one);
    expect(outbox.replies.map(({ payload }) => payload)).toEqual([asTold(plain, one)]);
  });

  it.each([true, false])(
    'is left out of every chunk of a stream, whether usage was asked for (%s)',
    async (includeUsage) => {
      const choice = (finish: string | null) => ({ index: 0, delta: {}, finish_reason: finish });
      const chunks = [
        { id: 'c', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] },
        { id: 'c', choices: [choice('stop')] },
        { id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } },
      ].map((chunk) => withTheirs(JSON.stringify(chunk)));
      const { run, outbox } = workerWith(new ScriptedProvider(streams(...chunks)));
      await run(delivery({ stream: true, includeUsage }));
      const told = outbox.replies.map(({ payload }) => payload).join('');
      expect(told).toContain('"content":"a"');
      expect(told).not.toMatch(/rece(i|\\u0069)pt/);
    },
  );

  it('is left out of a response and of its events, at both levels', () => {
    const sent: string[] = [];
    const stream = new NativeStream(
      { emit: (text) => sent.push(text), model: 'm', requestId: 'req_1' },
      undefined,
    );
    const response = { id: 'resp_1', model: 'up', store: false, output: [], receipt: THEIRS };
    for (const type of ['response.created', 'response.output_item.added', 'response.completed']) {
      const event = { type, response };
      stream.accept(JSON.stringify(event), event);
    }
    sent.push(stream.finish({ ...USAGE, source: 'upstream' }));
    expect(sent).toHaveLength(3);
    expect(sent.join('')).not.toContain('receipt');
  });
});

const USAGE = { inputTokens: 1, cachedInputTokens: 0, outputTokens: 1 };
