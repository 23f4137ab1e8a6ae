import { LONG, nextTurn } from './turns.ts';

/** A text in pieces, none of which takes long to read, or ends within a character. */
export function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length;) {
    let end = Math.min(at + LONG, text.length);
    if (end < text.length && isFirstOfPair(text.charCodeAt(end - 1))) end -= 1;
    yield text.slice(at, end);
    at = end;
  }
}

/** The UTF-8 of a text, of a long one in turns: of what stands in two bytes for each character a megabyte takes some milliseconds. */
export async function bytesOfText(text: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const piece of piecesOf(text)) {
    if (parts.length > 0) await nextTurn();
    parts.push(Buffer.from(piece));
  }
  if (parts.length === 1) return parts[0]!;
  await nextTurn();
  return Buffer.concat(parts);
}

/** A text from its UTF-8, in turns likewise. */
export async function textOfBytes(bytes: Buffer): Promise<string> {
  let text = '';
  for (let at = 0; at < bytes.length;) {
    if (at > 0) await nextTurn();
    let end = Math.min(at + LONG, bytes.length);
    // What is no UTF-8 has no beginnings of characters to be cut at, and is replaced in any case.
    for (let back = 0; back < 3 && isWithinCharacter(bytes[end]); back += 1) end -= 1;
    text += bytes.toString('utf8', at, end);
    at = end;
  }
  return text;
}

const isFirstOfPair = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isWithinCharacter = (byte: number | undefined): boolean =>
  byte !== undefined && (byte & 0xc0) === 0x80;
