import { createServer, type Socket } from 'node:net';
import { MessageReader } from './http-messages.ts';
import { PACE_MS, stamp, TOKENS } from './paced-tokens.ts';

/**
 * An upstream that costs as little as possible: one fixed answer of about 600 bytes; to a request that asks for a stream,
 * tokens at a steady pace, each with the moment at which it was written. Takes a port or 0, prints the one it got.
 */
const answer = JSON.stringify({
  id: 'chatcmpl-static',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'static',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'A ledger is only as good as its last line. '.repeat(8),
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 250, completion_tokens: 88, total_tokens: 338 },
});
const response = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: keep-alive\r\n' +
    `content-length: ${Buffer.byteLength(answer)}\r\n\r\n${answer}`,
);

const STREAM_HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: keep-alive\r\n' +
  'transfer-encoding: chunked\r\n\r\n';
const [before = '', after = ''] = frame({
  choices: [{ index: 0, delta: { content: '%' }, finish_reason: null }],
}).split('%');
const streamEnd =
  chunk(frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })) +
  chunk(
    frame({
      choices: [],
      usage: { prompt_tokens: 250, completion_tokens: TOKENS, total_tokens: 250 + TOKENS },
    }),
  ) +
  chunk('data: [DONE]\n\n') +
  '0\r\n\r\n';

function frame(rest: object): string {
  const common = { id: 'chatcmpl-paced', object: 'chat.completion.chunk', created: 1_760_000_000 };
  return `data: ${JSON.stringify({ ...common, model: 'static', ...rest })}\n\n`;
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** The first token comes at once. */
function stream(socket: Socket): void {
  let sent = 0;
  const send = (head: string): void => {
    const end = sent === TOKENS - 1 ? streamEnd : '';
    socket.write(`${head}${chunk(`${before}${stamp(sent)}${after}`)}${end}`, 'latin1');
    sent += 1;
    if (sent === TOKENS) clearInterval(timer);
  };
  const timer = setInterval(send, PACE_MS, '');
  socket.once('close', () => clearInterval(timer));
  send(STREAM_HEAD);
}

const server = createServer({ noDelay: true }, (socket) => {
  let asksForStream = false;
  const reader = new MessageReader({
    onBody: (piece) => {
      asksForStream ||= /"stream": ?true/.test(piece.toString('latin1'));
    },
    onEnd: () => {
      if (asksForStream) stream(socket);
      else socket.write(response);
      asksForStream = false;
    },
  });
  socket.setMaxListeners(0);
  socket.on('data', (bytes: Buffer) => reader.read(bytes));
  // A client that is stopped resets its connections.
  socket.on('error', () => socket.destroy());
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as { port: number }).port}\n`);
});
process.on('disconnect', () => process.exit(0));
