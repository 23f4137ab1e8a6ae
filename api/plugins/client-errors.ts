import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Fault } from '#shared/kernel/errors.ts';
import { IN_PIECES } from './body-pieces.ts';
import { errorAnswer } from './error-envelope.ts';

/** The error of node's HTTP parser about a connection that it cannot go on with. */
export type ParserError = Error & { code?: string };

/** Connections on which an error waits for the answers to what was asked before it. */
const waiting = new WeakSet<Socket>();

/**
 * Answers what never became a request: a malformed request line, headers that are too large or too slow. The connection
 * is closed, because the start of a next request in it cannot be known. What was asked on it before is answered first: the
 * error would be taken for its answer.
 */
export function answerClientError(
  error: ParserError,
  socket: Socket,
  newRequestId: () => string,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || waiting.has(socket)) return;
  const answer = answerUnderWay(socket);
  if (answer?.req.complete === true) {
    waiting.add(socket);
    answer.once('close', () => {
      waiting.delete(socket);
      answerClientError(error, socket, newRequestId);
    });
    return;
  }
  // A second answer in the middle of the first would be read as part of it.
  if (!socket.writable || answer?.headersSent === true) {
    socket.destroy(error);
    return;
  }
  const { status, headers, body } = errorAnswer(faultOfParser(error), newRequestId());
  const all = Object.entries({ ...headers, connection: 'close' });
  const lines = all.map(([name, value]) => `${name}: ${value}\r\n`);
  const first = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
  // Ended first: the answer must be out before the rest of the request is refused.
  socket.end(`${first}${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function faultOfParser({ code }: ParserError): Fault {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Fault('request_timeout');
    case 'HPE_HEADER_OVERFLOW':
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Fault('headers_too_large');
    case IN_PIECES:
      return new Fault('invalid_request', {
        message: 'The body comes in too many small pieces. Send it in pieces of kilobytes.',
      });
    case undefined:
    default:
      return new Fault('invalid_request');
  }
}

/** Node keeps it here, asks the same field, and has no public name for it. */
function answerUnderWay(socket: Socket): ServerResponse | undefined {
  const { _httpMessage: answer } = socket as { _httpMessage?: ServerResponse | null };
  return answer ?? undefined;
}
