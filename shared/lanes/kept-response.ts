import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { memberText } from '#shared/kernel/json-text.ts';
import { turnFor } from '#shared/kernel/turns.ts';
import type { Seals } from './seals.ts';

/** Which response: an organisation's, by the id that its caller has. */
export interface KeptResponseName {
  orgId: string;
  id: string;
}

/** What is kept of a response, as JSON texts. */
export interface KeptResponse {
  /** The input of its own request: a text or a list of items. */
  input: string;
  /** The response as it was sent. */
  response: string;
}

// On the thread pool: compressing a megabyte would hold up other streams for milliseconds.
const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Compresses what is kept, and seals it under its name. */
export async function packResponse(
  seals: Pick<Seals, 'sealBytes' | 'sealBytesInTurns'>,
  name: KeptResponseName,
  { input, response }: KeptResponse,
): Promise<Buffer> {
  const text = `{"input":${input},"response":${response}}`;
  await turnFor(text.length);
  const compressed = await compress(text);
  const place = placeOf(name);
  return compressed.length > SMALL_BYTES
    ? seals.sealBytesInTurns(compressed, place)
    : seals.sealBytes(compressed, place);
}

/**
 * What `packResponse` made under that name, as one text for `keptIn`; null where that is more than so many bytes.
 * @throws SealProblem when it cannot be opened
 */
export async function unpackResponse(
  seals: Pick<Seals, 'openBytesInTurns'>,
  name: KeptResponseName,
  packed: Buffer,
  bytesMax: number,
): Promise<string | null> {
  const compressed = await seals.openBytesInTurns(packed, placeOf(name));
  let text: Buffer;
  try {
    text = await decompress(compressed, { maxOutputLength: Math.max(1, bytesMax) });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return null;
    throw error;
  }
  await turnFor(text.length);
  return text.toString();
}

/** The parts of an unpacked text. */
export function keptIn(text: string): KeptResponse {
  return { input: memberText(text, 'input')!, response: memberText(text, 'response')! };
}

const SMALL_BYTES = 65_536;

function placeOf({ orgId, id }: KeptResponseName): string {
  return `kept response:${orgId}:${id}`;
}
