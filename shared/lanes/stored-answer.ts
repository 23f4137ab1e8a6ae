import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import type { StoredAnswerHead } from './messages.ts';
import { answerKey } from './keys.ts';
import type { Seals } from './seals.ts';
import { decodeMessage, encodeMessage } from './wire-format.ts';

/** Which answer: the claim it was given for, the request that ran, and the number of the delivery that answered. */
export interface StoredAnswerName {
  claim: string;
  requestId: string;
  delivery: number;
}

/** The parts of an answer that a replay needs: for a stream its framed chunks and the payload that carries the receipt; else the answer as `last`. */
export interface StoredAnswer {
  frames: string;
  last: string;
}

/** A compressed answer above this moves to PostgreSQL: many of them would fill Redis, which has no room to evict. */
export const PACKED_IN_REDIS_MAX = 1024 * 1024;
/** No upstream answers with more (a whole answer is refused above 128 MiB); a stream that does is not kept. */
export const STORED_CHARS_MAX = 128 * 1024 * 1024;
/** In UTF-8 a character of those takes up to three bytes. */
const UNPACKED_BYTES_MAX = 3 * STORED_CHARS_MAX + 1024 * 1024;

// On the thread pool: compressing a megabyte would hold up other streams for milliseconds.
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Compresses an answer for keeping, and seals it under its name. */
export async function packAnswer(
  seals: Pick<Seals, 'sealBytes'>,
  name: StoredAnswerName,
  { frames, last }: StoredAnswer,
): Promise<Buffer> {
  return seals.sealBytes(await compress(encodeMessage({ last }, frames)), answerKey(name));
}

/**
 * Reads what `packAnswer` made under that name.
 * @throws SealProblem when it cannot be opened
 */
export async function unpackAnswer(
  seals: Pick<Seals, 'openBytes'>,
  name: StoredAnswerName,
  packed: Buffer,
): Promise<StoredAnswer> {
  const compressed = seals.openBytes(packed, answerKey(name));
  const text = (await decompress(compressed, { maxOutputLength: UNPACKED_BYTES_MAX })).toString();
  const { head, payload } = decodeMessage<StoredAnswerHead>(text);
  return { frames: payload, last: head.last };
}
