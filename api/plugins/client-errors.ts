import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { Fault } from '#shared/kernel/errors.ts';
import { errorAnswer } from './error-envelope.ts';

/** The error of node's HTTP parser about a connection that it cannot go on with. */
export type ParserError = Error & { code?: string };

/**
 * Answers what never became a request: a malformed request line, headers that are too large or too slow. The connection
 * is closed, because the start of a next request in it cannot be known.
 */
export function answerClientError(
  error: ParserError,
  socket: Socket,
  newRequestId: () => string,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable || hasBegunAnswer(socket)) {
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
    case undefined:
    default:
      return new Fault('invalid_request');
  }
}

/** A second answer in the middle of the first would be read as part of it. Node asks the same of the same field. */
function hasBegunAnswer(socket: Socket): boolean {
  const { _httpMessage: answer } = socket as { _httpMessage?: { headersSent: boolean } };
  return answer?.headersSent === true;
}
