import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { MODELS } from './catalogue.ts';

const FLOOD = 'As fast as you can.';
const FLOOD_FRAMES = 1_500;
const FLOOD_TEXT = 'x'.repeat(16 * 1024);
/** What a worker has of one stream on its way: its window, and what came in one piece with the last of it. */
const ON_THE_WAY_MAX = 256 * 1024 + 128 * 1024;

function* flood(): Generator<string> {
  const frame = (delta: object, end: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta, finish_reason: end }] })}\n\n`;
  const spoken = frame({ content: FLOOD_TEXT }, null);
  for (let i = 0; i < FLOOD_FRAMES; i += 1) yield spoken;
  yield `${frame({}, 'stop')}data: [DONE]\n\n`;
}

/** Of a page that may call from a browser. */
export const PAGE_ORIGIN = 'https://chat.example';

/** Says nothing by itself, unless it is asked for a flood: that it sends as fast as it is read. */
export class ToldUpstream extends NotingUpstream {
  readonly #asked = Promise.withResolvers<ServerResponse>();

  protected override answerTo(body: Record<string, unknown>, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (JSON.stringify(body['messages']).includes(FLOOD)) Readable.from(flood()).pipe(response);
    else this.#asked.resolve(response);
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

/** Streams whose client has each frame at once, and such whose client reads nothing. */
export function unbufferedStreams(system: () => System, upstream: ToldUpstream): void {
  /** A figure of the inference worker. */
  async function metric(name: string): Promise<number> {
    const [worker] = system().processes('inference');
    const text = await (await fetch(`http://127.0.0.1:${worker!.metricsPort}/metrics`)).text();
    return Number(new RegExp(`^${name}\\{.*\\} (.+)$`, 'm').exec(text)![1]);
  }

  it('a client has each frame of a stream, uncompressed, before its upstream sends the next, also beside one whose client does not read what an upstream sends as fast as it can [clients.unbuffered, limits.slow-readers]', async () => {
    const flooded = await post(
      system(),
      '/chat/completions',
      chatBody({
        model: MODELS.told,
        stream: true,
        messages: [{ role: 'user', content: FLOOD }],
      }),
    );
    const asked = post(
      system(),
      '/chat/completions',
      chatBody({ model: MODELS.told, stream: true }),
      {
        headers: { 'accept-encoding': 'gzip, br, zstd', origin: PAGE_ORIGIN },
      },
    );
    const words = Array.from({ length: 20 }, (_, i) => `word-${i}.`);
    await upstream.say({ role: 'assistant', content: words[0] });
    const response = await asked;
    expect(response.headers.get('content-encoding')).toBeNull();
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE_ORIGIN);
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

    const payloads = payloadsIn(await flooded.text());
    expect(payloads.at(-1)).toBe('[DONE]');
    expect(payloads.at(-2)).toContain('"outcome":"complete"');
    const spoken = payloads.filter((payload) => payload.includes(FLOOD_TEXT));
    expect(spoken).toHaveLength(FLOOD_FRAMES);
    const most = await metric('docket_stream_chars_most');
    // A figure that is not fed stays below any bound.
    expect(most).toBeGreaterThan(FLOOD_TEXT.length);
    expect(most).toBeLessThan(ON_THE_WAY_MAX);
    await until(async () => (await metric('docket_stream_chars')) === 0, 'nothing is on its way');
  });
}
