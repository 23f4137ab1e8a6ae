import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';
import { startSystem, type System } from '#test/support/system.ts';

/** Says nothing by itself. */
class ToldUpstream extends NotingUpstream {
  readonly #asked = Promise.withResolvers<ServerResponse>();

  protected override answerTo(_body: unknown, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    this.#asked.resolve(response);
  }

  async say(delta: object, more: object = {}): Promise<void> {
    const choices = [{ index: 0, delta, finish_reason: null, ...more }];
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
    (await this.#asked.promise).write(`data: ${JSON.stringify(chunk)}\n\n`);
  }

  async end(): Promise<void> {
    (await this.#asked.promise).end('data: [DONE]\n\n');
  }
}

const upstream = new ToldUpstream();
let system: System;

beforeAll(async () => {
  system = await startSystem({ upstreamUrl: await upstream.listen() });
});
afterAll(() => upstream.close());

it(
  'a client has each frame of a stream, uncompressed, before its upstream sends the next',
  { tags: ['clients.unbuffered'] },
  async () => {
    const asked = post(system, '/chat/completions', chatBody({ stream: true }), {
      headers: { 'accept-encoding': 'gzip, br, zstd' },
    });
    const words = Array.from({ length: 20 }, (_, i) => `word-${i}.`);
    await upstream.say({ role: 'assistant', content: words[0] });
    const response = await asked;
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    // Of a stream that is held back on its way the next word never comes.
    const read = async (word: string): Promise<void> => {
      while (!text.includes(word)) text += (await reader.read()).value!;
    };
    await read(words[0]!);
    for (const word of words.slice(1)) {
      await upstream.say({ content: word });
      await read(word);
    }
    await upstream.say({}, { finish_reason: 'stop' });
    await upstream.end();
    await read('[DONE]');
    expect(payloadsIn(text).length).toBeGreaterThan(words.length);
  },
);
