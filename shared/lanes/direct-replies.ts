import { joinReplies, type Outgoing, splitReplies } from './wire-format.ts';

/**
 * What travels over a connection from a worker to an api process on its machine. The api process begins with a challenge
 * of 32 bytes. The worker proves that it holds the lane keys, and the api process does so in turn, each with a text behind
 * its length (4 bytes): what the other one chose, sealed for this connection. Then come batches: the length of what
 * follows and of the heads in it (4 bytes each), the heads, the payloads. The api process counts the batches it has taken
 * (4 bytes, beginning again after 2^32).
 */

export const CHALLENGE_BYTES = 32;
/** A proof is 177 characters long, of two challenges, and its answer 117. */
export const PROOF_BYTES_MAX = 1_024;
/** One that is larger comes of no worker: of the longest messages some megabytes are joined, and one is 256 KiB. */
export const BATCH_BYTES_MAX = 64 * 1024 * 1024;

const LENGTH_BYTES = 4;

/** What the worker's proof is sealed for: a connection to this process at this address, so that none in between can use it. */
export const workerPlace = (processId: string, address: string): string =>
  `direct replies of a worker\n${processId}\n${address}`;
/** The same of the api process. */
export const apiPlace = (processId: string, address: string): string =>
  `direct replies to an api process\n${processId}\n${address}`;

/** A text behind its length. */
export function encodeText(text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes);
  frame.writeUInt32BE(bytes);
  frame.write(text, LENGTH_BYTES);
  return frame;
}

/** What one process is told at once. */
export function encodeDirect(messages: readonly Outgoing[]): Buffer {
  const { heads, payloads } = joinReplies(messages);
  const headBytes = Buffer.byteLength(heads);
  const bytes = LENGTH_BYTES + headBytes + Buffer.byteLength(payloads);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + bytes);
  frame.writeUInt32BE(bytes, 0);
  frame.writeUInt32BE(headBytes, LENGTH_BYTES);
  frame.write(heads, 2 * LENGTH_BYTES);
  frame.write(payloads, 2 * LENGTH_BYTES + headBytes);
  return frame;
}

/**
 * Takes apart what `encodeDirect` has put behind the length.
 * @throws SyntaxError when its heads are not JSON
 */
export function decodeDirect(frame: Buffer): Outgoing[] {
  const payloadsAt = LENGTH_BYTES + frame.readUInt32BE(0);
  const heads = frame.toString('utf8', LENGTH_BYTES, payloadsAt);
  return splitReplies(heads, frame.toString('utf8', payloadsAt));
}

/** So many batches, as they are counted on the way. */
export function encodeCount(count: number): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES);
  bytes.writeUInt32BE(count % 2 ** 32);
  return bytes;
}

/** How many more batches a count on the way says than were known to be taken. */
export function moreThan(known: number, counted: number): number {
  return (counted - known) >>> 0;
}

/** Puts together what comes over a connection in pieces. */
export class Pieces {
  #held: Buffer[] = [];
  #bytes = 0;

  add(piece: Buffer): void {
    this.#held.push(piece);
    this.#bytes += piece.length;
  }

  /** So many bytes, once they are there. */
  take(bytes: number): Buffer | undefined {
    if (this.#bytes < bytes) return undefined;
    const all = this.#held.length === 1 ? this.#held[0]! : Buffer.concat(this.#held);
    this.#bytes = all.length - bytes;
    this.#held = this.#bytes === 0 ? [] : [all.subarray(bytes)];
    return all.subarray(0, bytes);
  }

  /**
   * What stands behind its length, once it is there.
   * @throws RangeError when it is longer than that
   */
  takeFrame(bytesMax: number): Buffer | undefined {
    if (this.#bytes < LENGTH_BYTES) return undefined;
    const [first] = this.#held;
    if (first!.length < LENGTH_BYTES) this.#held = [Buffer.concat(this.#held)];
    const bytes = this.#held[0]!.readUInt32BE(0);
    if (bytes > bytesMax)
      throw new RangeError(`a frame of ${bytes} bytes, where ${bytesMax} are the most`);
    return this.take(LENGTH_BYTES + bytes)?.subarray(LENGTH_BYTES);
  }
}
