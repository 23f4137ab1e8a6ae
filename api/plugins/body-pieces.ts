import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { cutOff, takeBeforeRouting } from './before-routing.ts';
import { SMALL_BODY_BYTES } from './intake.ts';

/** Any body may come in so many, however small they are; each takes 400 bytes of memory and a microsecond. */
const PIECES = 4_096;
/** And in one more for so many of its bytes. Programs write pieces of kilobytes. */
const BYTES_OF_PIECE = 128;

/** Nothing that is written for its readers comes in so many and so small; node takes a microsecond for each. */
const MANY_PIECES = 1_024;

/** The code of the error that a connection is closed with. */
export const IN_PIECES = 'DOCKET_BODY_IN_PIECES';

/**
 * Bounds in how many pieces a body comes. Node makes a buffer of each chunk, so that twenty million chunks of one byte would
 * be eight gigabytes, read or not; and it goes on with what it has read at once, up to 64 KiB with eleven thousand of them, even
 * when it has been told to stop. So one that comes in many has a connection of its own, and `onMany` hears of its address.
 */
export function boundPieces(
  app: Pick<FastifyInstance, 'server'>,
  onMany: (address: string) => void,
): void {
  takeBeforeRouting(app, (request, response) => {
    const { headers, socket } = request;
    const isChunked = headers['transfer-encoding'] !== undefined;
    if (!isChunked && !(Number(headers['content-length']) > SMALL_BODY_BYTES)) return false;
    countPieces(request, {
      onMany: () => {
        if (socket.remoteAddress !== undefined) onMany(socket.remoteAddress);
        if (response.headersSent) cutOff(socket);
        else response.shouldKeepAlive = false;
      },
      onTooMany: () => {
        const error = new Error('The body comes in too many small pieces.');
        if (response.headersSent) cutOff(socket);
        else app.server.emit('clientError', Object.assign(error, { code: IN_PIECES }), socket);
      },
    });
    return false;
  });
}

/** Says once of a body that it has come in many pieces, and once that it has in too many; no more of it is taken then. */
function countPieces(
  request: IncomingMessage,
  { onMany, onTooMany }: Record<'onMany' | 'onTooMany', () => void>,
): void {
  let count = 0;
  let areMany = false;
  let areTooMany = false;
  const push = request.push.bind(request);
  // What node's parser gives each piece to: there is no event that does not have it read.
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (areTooMany) return false;
    if (piece !== null) count += 1 - piece.length / BYTES_OF_PIECE;
    if (!areMany && count > MANY_PIECES) {
      areMany = true;
      onMany();
    }
    areTooMany = count > PIECES;
    if (!areTooMany) return push(piece, encoding);
    onTooMany();
    return false;
  };
}
