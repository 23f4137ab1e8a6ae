import { isUtf8 } from 'node:buffer';

/**
 * The head of a `data:` address as every server reads it: its first comma ends it, its last word says that base64 follows,
 * and no value has what would end it for some. Names of files are values of it: `name=report%20(1).pdf`.
 */
const HEAD =
  /^data:((?:[\w.+-]+\/[\w.+*-]+)?(?:; ?[\w.+-]+=(?:"[\p{L}\p{N}\w.+%~!'()* -]*"|[\p{L}\p{N}\w.+%~!'()*-]*))*);base64,$/u;
/** A media type with a few parameters is no longer. */
const HEAD_CHARS_MAX = 512;
/** Something to be fetched. Servers look for these letters, and decode what begins otherwise. */
const ADDRESS = /^https?:\/\/\S+$/;
/** Servers take no longer address, and what begins as one may be megabytes. */
const ADDRESS_CHARS_MAX = 65_536;
/** Lines may end in base64. What else is not of its alphabet some decoders overlook, and others take for a value or the end. */
const BASE64 = /[A-Za-z0-9+/\r\n]/;
const IS_BASE64 = Uint8Array.from({ length: 128 }, (_, code) =>
  BASE64.test(String.fromCharCode(code)) ? 1 : 0,
);
const PADDED_END = /={0,2}[\r\n]*$/;
const END_CHARS_MAX = 16;
/** What says that it is a text, or names a form of texts; the rest is one where its bytes are. */
const NAMED_TEXT =
  /^\s*text\/|[/+](?:json|xml|yaml|toml|javascript|x-[a-z]*(?:script|python|sh))\b/i;
/** How files are called that are texts. */
const TEXT_FILE =
  /\.(?:[ch](?:pp)?|cc|cfg|conf|cs[sv]?|eml|go|html?|ics|ini|java|[jt]sx?|jsonl?|kt|log|lua|md|markdown|mjs|php|pl|ps1|py|rb?|rs|rst|rtf|sh|sql|srt|svg|swift|tex|te?xt|toml|tsv|vcf|vtt|xml|ya?ml)[\s.]*$/i;
const CHARSET = /; ?charset="?([^;"]+)/i;
/** A type beside the data is no longer. Of the name of a file its end says what it is. */
const TYPE_CHARS_MAX = 128;
/** By so much of base64 a picture or a sound is told from a text. */
const BEGINNING_CHARS = 4_096;
/** Of UTF-8. */
const CHARACTER_BYTES_MAX = 4;

/** What is wrong with data that servers read differently, for those who have sent them. */
export const DATA_RULE =
  'must be an address that begins with `http://` or `https://`, or base64 in the standard alphabet with `=` at its end alone, as it is or behind `data:<type>;base64,`';

/** A `data:` address in any spelling, in a place where none is looked for. */
const ANY_DATA_ADDRESS = /^\s*data:[^,]*,/i;
const NOT_OF_ALPHABET = /[^A-Za-z0-9+/]/g;

/** Whether what stands beside the data of a part says that they are a text: some servers go by that, and not by the data. */
export function namesText(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  const isType = value.length <= TYPE_CHARS_MAX && NAMED_TEXT.test(value);
  return isType || TEXT_FILE.test(value.slice(-TYPE_CHARS_MAX));
}

/**
 * What a file holds that a server may write into a prompt, as texts; none where it is a medium alone, or an address; undefined
 * where servers differ in which bytes it holds, so that what one of them reads is not what is screened here. Servers differ in
 * what they take for a text and in how they decode it too, but in few ways: each is read, and is one pass.
 *
 * @param data of the part: a `data:` address, base64 alone, or the address of something to be fetched
 * @param isNamed what stands beside it says that it is a text
 */
export function textsOfData(data: string, isNamed = false): string[] | undefined {
  if (data.length <= ADDRESS_CHARS_MAX && ADDRESS.test(data)) return [];
  if (!data.startsWith('data:')) return decoded(data, isNamed, undefined);
  const head = HEAD.exec(data.slice(0, Math.min(data.indexOf(',') + 1, HEAD_CHARS_MAX)));
  if (head === null) return undefined;
  const type = head[1]!;
  // The name of a file is a value of it.
  const isText =
    NAMED_TEXT.test(type) || type.replaceAll('"', '').split(';').some(namesText) || isNamed;
  return decoded(data.slice(head[0].length), isText, CHARSET.exec(type)?.[1]);
}

/** What a `data:` address says of its data beside their type, as the name of a file. */
export function wordsBesideData(data: string): string {
  if (!data.startsWith('data:')) return '';
  const head = data.slice(0, data.indexOf(','));
  return head.includes('=') ? head : '';
}

/**
 * What a text holds that begins as a `data:` address, where no interface has one: nothing is refused there, so it is read in
 * each way in which decoders may. None of any other text.
 */
export function textsOfStrayData(text: string): string[] {
  if (!ANY_DATA_ADDRESS.test(text)) return [];
  const texts = textsOfData(text);
  if (texts !== undefined) return texts;
  const rest = unescaped(text.slice(text.indexOf(',') + 1));
  const decodings = [rest, rest.replace(NOT_OF_ALPHABET, '')].map((base64) =>
    Buffer.from(base64, 'base64'),
  );
  return [rest, ...decodings.filter(mayBeginText).map((bytes) => bytes.toString())];
}
/** Also where not all of it is well escaped, which decodeURIComponent takes for none. */
function unescaped(text: string): string {
  const field = text.replaceAll('+', '%2B').replaceAll('&', '%26');
  return new URLSearchParams(`text=${field}`).get('text') ?? '';
}

function decoded(
  base64: string,
  isText: boolean,
  charset: string | undefined,
): string[] | undefined {
  if (!isBase64(base64)) return undefined;
  const ofCharset = charset === undefined ? UTF_8 : decoderOf(charset);
  if (ofCharset === undefined) return undefined;
  const beginning = Buffer.from(base64.slice(0, BEGINNING_CHARS), 'base64');
  // Of two bytes each, in an order that its charset need not say, or of one with some that say nothing.
  const isWide =
    beginning.includes(0) || isMarked(beginning) || ofCharset.encoding.startsWith('utf-16');
  if (!isText && !isMarked(beginning) && !mayBeginText(beginning)) return [];
  // Of most files there is no more than that; a request may have hundreds of thousands.
  const bytes = base64.length > BEGINNING_CHARS ? Buffer.from(base64, 'base64') : beginning;
  const text = isUtf8(bytes) ? UTF_8.decode(bytes) : undefined;
  const texts: string[] = [];
  if (text !== undefined) texts.push(text);
  // Some leave out what is none, and some take each byte for a character, also of what only begins as a text.
  else if (isText || !isMarked(beginning))
    texts.push(UTF_8.decode(bytes), bytes.toString('latin1'));
  if (isWide && (isText || isMarked(beginning) || text !== undefined))
    texts.push(...WIDE.map((decoder) => decoder.decode(bytes)));
  if (ofCharset !== UTF_8) texts.push(ofCharset.decode(bytes));
  return [...new Set(texts)].filter((one) => one !== '');
}

/** Whether every decoder makes the same of it, those that overlook what they do not know included. */
function isBase64(text: string): boolean {
  const end = PADDED_END.exec(text.slice(-END_CHARS_MAX))![0];
  // An expression takes ten times as long, and there may be 20 MiB of it.
  for (let at = text.length - end.length - 1; at >= 0; at -= 1)
    if (IS_BASE64[text.charCodeAt(at)] !== 1) return false;
  return true;
}

const UTF_8 = new TextDecoder();
const WIDE = [new TextDecoder('utf-16le'), new TextDecoder('utf-16be')] as const;

const DECODERS = new Map<string, TextDecoder>();

/** Undefined for what is not known here. Of those that are there are some two hundred names, and each takes long to make. */
function decoderOf(charset: string): TextDecoder | undefined {
  const name = charset.trim().toLowerCase();
  let decoder = DECODERS.get(name);
  if (decoder !== undefined) return decoder;
  try {
    decoder = new TextDecoder(name);
  } catch {
    return undefined;
  }
  DECODERS.set(name, decoder);
  return decoder;
}

/** Whether all of the bytes are UTF-8, but for a character that may be cut in two at their end. */
function mayBeginText(bytes: Buffer): boolean {
  for (let cut = 0; cut < Math.min(CHARACTER_BYTES_MAX, bytes.length); cut += 1)
    if (isUtf8(bytes.subarray(0, bytes.length - cut))) return true;
  return false;
}

/** Whether a mark of UTF-16 stands before it. */
function isMarked([first, second]: Buffer): boolean {
  return (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
}
