import { createServer } from 'node:http';

/** An upstream that costs as little as possible: one fixed answer of about 600 bytes. Prints its port. */
const answer = Buffer.from(
  JSON.stringify({
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
  }),
);

const server = createServer((request, response) => {
  request.resume();
  request.on('end', () => {
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': answer.length,
    });
    response.end(answer);
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as { port: number }).port}\n`);
});
process.on('disconnect', () => process.exit(0));
