import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { bytesOfText, textOfBytes } from '#shared/kernel/long-text.ts';
import { turnFor } from '#shared/kernel/turns.ts';
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
/** Most answers are smaller. A larger one is to be read when there is room for it, however well it was compressed. */
const SMALL_BYTES = 256 * 1024;
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
  const length = last.length + frames.length;
  await turnFor(length);
  const text = encodeMessage({ last }, frames);
  await turnFor(length);
  return seals.sealBytes(await compress(await bytesOfText(text)), answerKey(name));
}

/**
 * Reads what `packAnswer` made under that name. `whenLarge` is waited for before a large answer is unpacked.
 * @throws SealProblem when it cannot be opened
 */
export async function unpackAnswer(
  seals: Pick<Seals, 'openBytesInTurns'>,
  name: StoredAnswerName,
  packed: Buffer,
  whenLarge: () => Promise<void> = () => Promise.resolve(),
): Promise<StoredAnswer> {
  const compressed = await seals.openBytesInTurns(packed, answerKey(name));
  let unpacked = await unpackSmall(compressed);
  if (unpacked === null) {
    await whenLarge();
    unpacked = await decompress(compressed, { maxOutputLength: UNPACKED_BYTES_MAX });
  }
  await turnFor(unpacked.length);
  const text = await textOfBytes(unpacked);
  await turnFor(unpacked.length);
  const { head, payload } = decodeMessage<StoredAnswerHead>(text);
  await turnFor(unpacked.length);
  return { frames: payload, last: head.last };
}

/** Null when it is large. */
async function unpackSmall(compressed: Buffer): Promise<Buffer | null> {
  try {
    return await decompress(compressed, { maxOutputLength: SMALL_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null;
    throw error;
  }
}
