import type { IncomingMessage } from 'node:http';
import type { FastifyInstance } from 'fastify';
import { cutOff, skipRest, takeBeforeRouting } from './before-routing.ts';
import { SMALL_BODY_BYTES } from './intake.ts';
import { ReadingTurns, readInTurns } from './reading-turns.ts';

/** Any body in chunks, or above 64 KiB, may come in so many, however small they are; each takes a microsecond. */
const PIECES = 4_096;
/** Pieces of so many bytes are not small. Programs write some of kilobytes. */
const BYTES_OF_PIECE = 128;
/** What is read of a body whose request was refused is thrown away, up to 64 MiB a second. */
const BYTES_OF_REFUSED_PIECE = 1_024;

/** Nothing that is written for its readers comes in so many and so small; node takes a microsecond for each. */
const MANY_PIECES = 1_024;

/** The code of the error that a connection is closed with. */
export const IN_PIECES = 'DOCKET_BODY_IN_PIECES';

/** What is smaller takes a share of a turn of the event loop. Smaller ones yet are put together, in buffers of this size. */
const GATHERED_BYTES = 4_096;
const SMALL_PIECE_BYTES = 1_024;

export interface PieceOptions {
  /** Whose connections those of an address are; undefined of a proxy, whose are those of many callers. */
  callerOf: (address: string) => string | undefined;
  /** Called with who has sent a body in many pieces. */
  onMany: (caller: string) => void;
}

/**
 * Has a body of small pieces take no more memory than its bytes, however it comes: what is kept of each piece is some four
 * hundred bytes, so that a body of 64 KiB that comes byte by byte would be 25 MB until it is whole. And bounds in how many
 * chunks one comes: node makes a buffer of each, and goes on with what it has read at once, up to 64 KiB with eleven thousand
 * of them, even when it has been told to stop. So one that comes in many has a connection of its own, and `onMany` hears of
 * its caller. Small pieces of all bodies have a share of a turn of the event loop, and connections wait in turns for more.
 */
export function boundPieces(
  app: Pick<FastifyInstance, 'server'>,
  { callerOf, onMany: onManyOf }: PieceOptions,
): void {
  const turns = new ReadingTurns();
  readInTurns(app, turns, callerOf);
  takeBeforeRouting(app, (request, response) => {
    const { headers, socket } = request;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const bytes = Number(headers['content-length'] ?? 0);
    if (isChunked || bytes > 0) gatherPieces(request, isChunked ? GATHERED_BYTES : bytes);
    if (!isChunked && bytes <= SMALL_BODY_BYTES) return false;
    countPieces(request, {
      onMany: () => {
        const { remoteAddress: address } = socket;
        const caller = address === undefined ? undefined : callerOf(address);
        if (caller !== undefined) onManyOf(caller);
        if (response.headersSent) cutOff(socket);
        else response.shouldKeepAlive = false;
      },
      onTooMany: () => {
        const error = new Error('The body comes in too many small pieces.');
        if (response.headersSent) return cutOff(socket);
        app.server.emit('clientError', Object.assign(error, { code: IN_PIECES }), socket);
        skipRest(socket);
      },
      onSmall: () => turns.count(socket),
      bytesOfPiece: () => (response.headersSent ? BYTES_OF_REFUSED_PIECE : BYTES_OF_PIECE),
    });
    return false;
  });
}

/** What node's parser gives each piece of a body to, and null behind the last: there is no event that does not have it read. */
type Push = (piece: Buffer | null, encoding?: BufferEncoding) => boolean;

/**
 * Puts small pieces of a body together before they are kept.
 *
 * @param bytes as many as the body has, or may have at least
 */
function gatherPieces(request: IncomingMessage, bytes: number): void {
  const size = Math.min(bytes, GATHERED_BYTES);
  const push = request.push.bind(request) as Push;
  let gathered: Buffer | undefined;
  let length = 0;
  const flush = (): boolean => {
    if (gathered === undefined) return true;
    // What is not full is kept in as many bytes as it has.
    const whole = length === size ? gathered : Buffer.from(gathered.subarray(0, length));
    gathered = undefined;
    length = 0;
    return push(whole);
  };
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    const isKept = piece === null || piece.length > SMALL_PIECE_BYTES || piece.length >= size;
    const goesOn = isKept || length + piece.length > size ? flush() : true;
    if (isKept) return push(piece, encoding) && goesOn;
    gathered ??= Buffer.allocUnsafeSlow(size);
    piece.copy(gathered, length);
    length += piece.length;
    return length === size ? flush() : goesOn;
  };
}

interface PieceBounds {
  onMany: () => void;
  onTooMany: () => void;
  /** Called for each small piece. */
  onSmall: () => void;
  /** How long a piece of it is at least that is not small. */
  bytesOfPiece: () => number;
}

/** Says once of a body that it has come in many pieces, and once that it has in too many; no more of it is taken then. */
function countPieces(
  request: IncomingMessage,
  { onMany, onTooMany, onSmall, bytesOfPiece }: PieceBounds,
): void {
  let count = 0;
  let areMany = false;
  let areTooMany = false;
  const push = request.push.bind(request) as Push;
  request.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (areTooMany) return false;
    if (piece !== null) {
      // What large pieces are is saved for none behind them.
      count = Math.max(0, count + 1 - piece.length / bytesOfPiece());
      if (piece.length < GATHERED_BYTES) onSmall();
    }
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
