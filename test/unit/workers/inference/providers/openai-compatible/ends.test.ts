import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closes, resets, startSayingServer, staysOpen } from '#test/support/saying-server.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';
import { OpenAiCompatibleProvider } from '#workers/inference/providers/openai-compatible/provider.ts';
import { chunk, completion, delivery, workerWith } from '../../doubles.ts';

const FINISHED = `data: ${chunk('Hi', 'stop')}\n\n`;
const DONE = 'data: [DONE]\n\n';
const headOf = (...more: string[]): string =>
  ['HTTP/1.1 200 OK', 'content-type: text/event-stream', ...more, '', ''].join('\r\n');
const CHUNKED = 'transfer-encoding: chunked';
const CLOSE = 'connection: close';
const inChunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

/** The receipt's outcome of a request whose upstream sends these bytes and then does this with the connection. */
async function outcomeOf(
  bytes: string,
  then: (socket: Socket) => unknown,
): Promise<string | undefined> {
  const server = await startSayingServer(bytes);
  const baseUrl = `${server.url}/v1`;
  const provider = new OpenAiCompatibleProvider(() => undefined);
  const { run, handed } = workerWith({
    call: (request, sink) =>
      provider.call(
        { ...request, endpoint: endpoint('first', ['eu-west'], { baseUrl }) },
        {
          ...sink,
          onPayload: (text) => {
            sink.onPayload(text);
            server.withEach(then);
          },
        },
      ),
    list: provider.list.bind(provider),
    close: () => provider.close(),
  });
  await run(delivery({ stream: true }));
  await provider.close();
  await server.close();
  return handed()[0]?.record.outcome;
}

describe('the end of a stream whose choices have finished', () => {
  it.each<[how: string, bytes: string, then: (socket: Socket) => unknown, outcome: string]>([
    ['[DONE], with anything after it', headOf(CLOSE) + FINISHED + DONE, resets, 'complete'],
    [
      'the last chunk of the body',
      headOf(CHUNKED) + inChunk(FINISHED) + '0\r\n\r\n',
      staysOpen,
      'complete',
    ],
    [
      'the length of the body',
      headOf(`content-length: ${FINISHED.length}`) + FINISHED,
      staysOpen,
      'complete',
    ],
    ['the close of a body without a length', headOf(CLOSE) + FINISHED, closes, 'complete'],
    ['no reset of a body without a length', headOf(CLOSE) + FINISHED, resets, 'truncated'],
    ['no reset of one that does not say so', headOf() + FINISHED, resets, 'truncated'],
    ['no close before the last chunk', headOf(CHUNKED) + inChunk(FINISHED), closes, 'truncated'],
    [
      'no close before it that was announced',
      headOf(CHUNKED, CLOSE) + inChunk(FINISHED),
      closes,
      'truncated',
    ],
    [
      'no reset before the last chunk',
      headOf(CHUNKED, CLOSE) + inChunk(FINISHED),
      resets,
      'truncated',
    ],
    [
      'no close before the length',
      headOf('content-length: 5000', CLOSE) + FINISHED,
      closes,
      'truncated',
    ],
    [
      'no reset before the length',
      headOf('content-length: 5000', CLOSE) + FINISHED,
      resets,
      'truncated',
    ],
  ])(
    'is proven by its protocol: %s [survives.upstream-within]',
    async (_how, bytes, then, outcome) => {
      expect(await outcomeOf(bytes, then)).toBe(outcome);
    },
  );
});

describe('an answer whose type is not what it says', () => {
  const typed = (type: string, body: string): string =>
    ['HTTP/1.1 200 OK', `content-type: ${type}`, `content-length: ${body.length}`, '', body].join(
      '\r\n',
    );
  it.each<[what: string, bytes: string]>([
    ['a stream called JSON', typed('application/json', FINISHED + DONE)],
    ['a whole answer called a stream', typed('text/event-stream', `\n${completion()}`)],
    ['a whole answer called JSON', typed('application/json', completion())],
  ])('is read by its bytes: %s', async (_what, bytes) => {
    expect(await outcomeOf(bytes, staysOpen)).toBe('complete');
  });
});
