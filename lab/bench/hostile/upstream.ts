/**
 * The upstream of the gateway: it answers at once and costs as little as it can, since a model server has a machine of its
 * own; a stream is sent without end, as fast as it is read, by a process beside it. Prints its port.
 */
import { fork } from 'node:child_process';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

const JSON_TYPE = { 'content-type': 'application/json' };
/** The length of a number as model servers write it. */
const VECTOR = `[${Array<string>(1_024).fill('0.01234567890123456789').join(',')}]`;

const COMMON = { id: 'chatcmpl-hostile', created: 1_760_000_000, model: 'hostile' };
const ANSWER = JSON.stringify({
  ...COMMON,
  object: 'chat.completion',
  usage: { prompt_tokens: 8, completion_tokens: 8, total_tokens: 16 },
  choices: [
    { index: 0, message: { role: 'assistant', content: 'It scatters.' }, finish_reason: 'stop' },
  ],
});
/** A token with twenty others that might have stood there, some 1,600 characters. */
const TOKEN = JSON.stringify({
  token: 'light',
  logprob: -0.012345678901234,
  bytes: [108, 105, 103, 104, 116],
  top_logprobs: Array.from({ length: 20 }, () => ({
    token: 'light',
    logprob: -0.012345678901234,
    bytes: [108, 105, 103, 104, 116],
  })),
});
const TOKENS = 18_000;
/** Of some 30 MB, made when it is first asked for. */
let withLogprobs: Buffer | undefined;
const endless = fork(join(import.meta.dirname, 'endless-upstream.ts'));

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  if (request.url?.endsWith('/embeddings') === true) {
    const { input } = JSON.parse(body.toString()) as { input: unknown };
    const data = [input]
      .flat()
      .map((_, at) => `{"object":"embedding","index":${at},"embedding":${VECTOR}}`);
    const usage = JSON.stringify({ prompt_tokens: data.length, total_tokens: data.length });
    response.writeHead(200, JSON_TYPE);
    response.end(`{"object":"list","model":"hostile","data":[${data.join(',')}],"usage":${usage}}`);
  } else if (body.includes('"stream":true')) {
    const { socket } = request;
    response.detachSocket(socket);
    endless.send('stream', socket);
  } else {
    const isLong = body.includes('"logprobs":true');
    response.writeHead(200, JSON_TYPE).end(isLong ? (withLogprobs ??= longAnswer()) : ANSWER);
  }
}

function longAnswer(): Buffer {
  const logprobs = `{"content":[${`${TOKEN},`.repeat(TOKENS - 1)}${TOKEN}]}`;
  return Buffer.from(ANSWER.replace('"index":0', `"index":0,"logprobs":${logprobs}`));
}

const server = createServer((request, response) => {
  // A gateway that leaves takes its connection with it.
  answer(request, response).catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
);
process.on('disconnect', () => process.exit());
