import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { decodeMessage, encodeMessage } from './wire-format.ts';

/** What a replay needs: for a stream its framed chunks and the payload that carries the receipt; else the answer as `last`. */
export interface StoredAnswer {
  frames: string;
  last: string;
}

/** Above this an answer does not decompress: it was bounded when it was stored. */
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024;

/** Compresses an answer for keeping. */
export function packAnswer({ frames, last }: StoredAnswer): Buffer {
  return zstdCompressSync(encodeMessage({ last }, frames));
}

/** Reads what `packAnswer` made. */
export function unpackAnswer(packed: Buffer): StoredAnswer {
  const text = zstdDecompressSync(packed, { maxOutputLength: UNPACKED_BYTES_MAX }).toString();
  const { head, payload } = decodeMessage<{ last: string }>(text);
  return { frames: payload, last: head.last };
}
