/** `data:` and what it says of itself, with the spaces that servers overlook. */
const DATA = /^\s*data:([^,]*),/i;
/** Of something to be fetched, or of nothing. */
const ADDRESS = /^\s*(?:[a-z][a-z0-9+.-]*:\/\/\S*\s*$|data:)/i;
/** What says that it is a text, or names a form of texts; the rest is one where its bytes are. */
const NAMED_TEXT =
  /^\s*text\/|[/+](?:json|xml|yaml|toml|javascript|x-[a-z]*(?:script|python|sh))\b/i;
const BASE64 = /;\s*base64\b/i;
/** Elsewhere it is a mark for some, and none for others. */
const BASE64_AT_END = /;\s*base64\s*$/i;
const MARK = 'base64,';
const BASE64_CHARACTERS = /^[\s\w+/=-]*$/;
/** A type beside the data is no longer. */
const TYPE_CHARS_MAX = 128;
/** By so much of base64 a picture or a sound is told from a text. */
const BEGINNING_CHARS = 4_096;

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Whether what stands beside the data of a part says that they are a text: some servers go by that, and not by the data. */
export function namesText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= TYPE_CHARS_MAX && NAMED_TEXT.test(value);
}

/**
 * What a file holds that a server may write into a prompt, as texts; none where it is a medium alone, or an address. Servers
 * differ in what they take for a text and in how they decode it, so that each way is read that one of them takes; these are
 * few, and each is one pass.
 *
 * @param data of the part: a `data:` address, base64 alone, or the address of something to be fetched
 * @param isNamed what stands beside it says that it is a text
 */
export function textsOfData(data: string, isNamed = false): string[] {
  const head = DATA.exec(data);
  if (head === null) {
    if (ADDRESS.test(data)) return [];
    // What is no base64 may be taken as it stands.
    return BASE64_CHARACTERS.test(data) ? decoded(data, isNamed) : [data];
  }
  const type = head[1] ?? '';
  const rest = data.slice(head[0].length);
  const isText = isNamed || NAMED_TEXT.test(type);
  const texts = [
    ...(BASE64.test(type) ? ofBase64(rest, isText) : []),
    ...(BASE64_AT_END.test(type) ? [] : ofWords(rest, isText)),
  ];
  return [...new Set(texts)].filter((text) => text !== '');
}

function ofBase64(rest: string, isText: boolean): string[] {
  // Some split at the last mark, and not at the first comma.
  const mark = rest.lastIndexOf(MARK);
  const ways = mark === -1 ? [rest] : [rest, rest.slice(mark + MARK.length)];
  const texts = ways.flatMap((text) => decoded(text, isText));
  return BASE64_CHARACTERS.test(rest) ? texts : [...texts, rest];
}

/** Some decode what they were not told is base64. */
function ofWords(rest: string, isText: boolean): string[] {
  return [...new Set([rest, unescaped(rest)])].flatMap((text) => [
    text,
    ...(BASE64_CHARACTERS.test(text) ? decoded(text, isText) : []),
  ]);
}

/** Some stop where the padding is, and some go on behind it. */
function decoded(base64: string, isText: boolean): string[] {
  if (!isText && !beginsAsText(base64)) return [];
  const padding = base64.indexOf('=');
  const whole = Buffer.from(base64, 'base64');
  const first = textOf(whole, isText);
  if (padding === -1) return first;
  const further = Buffer.from(base64.slice(padding).replaceAll('=', ''), 'base64');
  if (further.length === 0) return first;
  return [...first, ...textOf(Buffer.concat([whole, further]), isText)];
}

/** Most media are none in their first bytes. */
function beginsAsText(base64: string): boolean {
  const bytes = Buffer.from(base64.slice(0, BEGINNING_CHARS), 'base64');
  // Not a character that is cut in two: it has three bytes at most.
  for (let cut = 0; cut < 4; cut += 1)
    if (textOf(bytes.subarray(0, Math.max(0, bytes.length - cut)), false).length > 0) return true;
  return false;
}

function textOf(bytes: Buffer, isText: boolean): string[] {
  if (isText) return [bytes.toString()];
  if (bytes.includes(0)) return [];
  try {
    return [utf8.decode(bytes)];
  } catch {
    return [];
  }
}

const PERCENT = 0x25;

/** Each `%61` is its byte; what is none stays as it is. */
function unescaped(text: string): string {
  if (!text.includes('%')) return text;
  const bytes = Buffer.from(text);
  let end = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const isEscape = bytes[at] === PERCENT;
    const [high, low] = isEscape ? [hex(bytes[at + 1]), hex(bytes[at + 2])] : [-1, -1];
    const byte = high === -1 || low === -1 ? bytes[at]! : high * 16 + low;
    if (high !== -1 && low !== -1) at += 2;
    bytes[end] = byte;
    end += 1;
  }
  return bytes.toString('utf8', 0, end);
}

/** The value of a hexadecimal digit; -1 of anything else. */
function hex(code: number | undefined): number {
  if (code === undefined) return -1;
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}
