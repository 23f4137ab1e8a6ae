import { createServer } from 'node:net';
import { MessageReader } from './http-messages.ts';

/** An upstream that costs as little as possible: one fixed answer of about 600 bytes. Prints its port. */
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

const server = createServer({ noDelay: true }, (socket) => {
  const reader = new MessageReader(() => socket.write(response));
  socket.on('data', (bytes: Buffer) => reader.read(bytes));
  // A client that is stopped resets its connections.
  socket.on('error', () => socket.destroy());
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as { port: number }).port}\n`);
});
process.on('disconnect', () => process.exit(0));
