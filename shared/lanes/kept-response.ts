import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import { elements, memberText } from '#shared/kernel/json-text.ts';
import { bytesOfText, textOfBytes } from '#shared/kernel/long-text.ts';
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
  const compressed = await compress(await bytesOfText(text));
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
  return textOfBytes(text);
}

/** The parts of an unpacked text. */
export function keptIn(text: string): KeptResponse {
  return { input: memberText(text, 'input')!, response: memberText(text, 'response')! };
}

const SMALL_BYTES = 65_536;
/** Items of a response that are found by the ids of their server: agents have dozens, and each is a row of an index. */
const FOREIGN_ITEMS_MAX = 256;
/** As servers make them; what is odd is found by no reference. */
const FOREIGN_ID = /^"([\w.:-]{1,128})"$/;

/**
 * The ids of the items of an output that its server has named, so that a reference to one finds this response. Those that
 * were made here lead to it by themselves.
 */
export function foreignItemIds(response: string, id: string): string[] {
  if (response.includes(`${id.replace(/^resp/, '')}_0"`)) return [];
  const output = memberText(response, 'output');
  if (output === undefined || !output.startsWith('[')) return [];
  const ids = elements(output)
    .slice(0, FOREIGN_ITEMS_MAX)
    .flatMap(({ start, end }) => {
      const item = output.slice(start, end);
      const found = item.startsWith('{') ? FOREIGN_ID.exec(memberText(item, 'id') ?? '') : null;
      return found === null ? [] : [found[1]!];
    });
  return [...new Set(ids)];
}

function placeOf({ orgId, id }: KeptResponseName): string {
  return `kept response:${orgId}:${id}`;
}
