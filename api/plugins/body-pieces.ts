import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { cutOff, takeBeforeRouting } from './before-routing.ts';
import { SMALL_BODY_BYTES } from './intake.ts';

/** Any body may come in so many, however small they are; each takes 400 bytes of memory and a microsecond. */
const PIECES = 4_096;
/** And in one more for so many of its bytes. Programs write pieces of kilobytes. */
const BYTES_OF_PIECE = 128;

/** The code of the error that a connection is closed with. */
export const IN_PIECES = 'DOCKET_BODY_IN_PIECES';

/**
 * Bounds in how many pieces a body comes. Node makes a buffer of each chunk, so that twenty million chunks of one byte would
 * be eight gigabytes, read or not.
 */
export function boundPieces(app: Pick<FastifyInstance, 'server'>): void {
  takeBeforeRouting(app, (request, response) => {
    const { headers } = request;
    const isChunked = headers['transfer-encoding'] !== undefined;
    if (isChunked || Number(headers['content-length']) > SMALL_BODY_BYTES)
      countPieces(request, () => {
        const error = new Error('The body comes in too many small pieces.');
        if (response.headersSent) cutOff(request.socket);
        else
          app.server.emit('clientError', Object.assign(error, { code: IN_PIECES }), request.socket);
      });
    return false;
  });
}

/** Takes no more of a body, and says so once, when it has come in too many. */
function countPieces(request: IncomingMessage, end: () => void): void {
  let left = PIECES;
  let isOver = false;
  const push = request.push.bind(request);
  // What node's parser gives each piece to: there is no event that does not have it read.
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (isOver) return false;
    if (piece !== null) left -= 1 - piece.length / BYTES_OF_PIECE;
    if (left >= 0) return push(piece, encoding);
    isOver = true;
    end();
    return false;
  };
}
