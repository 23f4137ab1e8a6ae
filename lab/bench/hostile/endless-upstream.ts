/**
 * Sends streams without end, as fast as they are read, on connections that the upstream hands over with the head of their
 * answers not yet written.
 */
import type { Socket } from 'node:net';
import { setPriority } from 'node:os';
import { pipeline, Readable } from 'node:stream';

const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n';
const CHUNK = {
  id: 'chatcmpl-hostile',
  created: 1_760_000_000,
  model: 'hostile',
  object: 'chat.completion.chunk',
  choices: [
    { index: 0, delta: { content: 'As fast as it is read. '.repeat(700) }, finish_reason: null },
  ],
};
const FRAME = `data: ${JSON.stringify(CHUNK)}\n\n`;

// A model server that generates so fast has a machine of its own: what others send to the upstream waits for none of it.
setPriority(19);
process.on('message', (_message, socket: Socket) => {
  pipeline(Readable.from(withoutEnd()), socket, () => {});
});
process.on('disconnect', () => process.exit());

function* withoutEnd(): Generator<string> {
  yield HEAD;
  for (;;) yield FRAME;
}
