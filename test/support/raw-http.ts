import { connect } from 'node:net';
import type { Answer } from './envelope.ts';

/** An answer comes at once or the connection closes; a server that does neither for so long has hung. */
const PATIENCE_MS = 60_000;

/**
 * Writes bytes to a port as they are and reads until the server closes. The answers are those that came, in order; none when
 * it closed without one. `hangUp` says that nothing more will come, as a client does that goes away in the middle.
 * @throws Error when the server neither answers whole nor closes.
 */
export async function exchange(
  port: number,
  parts: readonly (string | Buffer)[],
  { hangUp = false } = {},
): Promise<Answer[]> {
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      for (const part of parts) socket.write(part);
      if (hangUp) socket.end();
    });
    socket.on('end', () => socket.end());
    const received: Buffer<ArrayBuffer>[] = [];
    socket.setTimeout(PATIENCE_MS, () => {
      socket.destroy();
      reject(new Error(`no end of: ${Buffer.concat(received).toString('latin1')}`));
    });
    socket.on('data', (chunk: Buffer<ArrayBuffer>) => received.push(chunk));
    // A server that has answered may reset what is still being written to it.
    socket.on('error', () => {});
    socket.on('close', () => resolve(Buffer.concat(received)));
  });
  return answersOf(bytes);
}

/** Only answers with a Content-Length: errors have no other. */
function answersOf(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf('\r\n\r\n', at);
    const [statusLine = '', ...lines] = bytes.subarray(at, end).toString('latin1').split('\r\n');
    const headers = new Headers(
      lines.map((line): [string, string] => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon), line.slice(colon + 1).trim()];
      }),
    );
    const length = Number(headers.get('content-length'));
    const body = bytes.subarray(end + 4, end + 4 + length);
    if (end < 0 || body.length < length) throw new Error(`a cut answer: ${bytes.toString()}`);
    answers.push({
      status: Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]),
      headers,
      text: body.toString(),
    });
    at = end + 4 + length;
  }
  return answers;
}
