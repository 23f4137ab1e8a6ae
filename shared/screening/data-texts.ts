const utf8 = new TextDecoder('utf-8', { fatal: true });
/** `data:` and what it says of itself, with the spaces that servers overlook. */
const DATA = /^\s*data:([^,]*),/i;
/** Of something to be fetched, or of nothing. */
const ADDRESS = /^\s*(?:[a-z][a-z0-9+.-]*:\/\/\S*\s*$|data:)/i;
/** Of these no server makes words of a prompt by their bytes: it has them looked at, listened to, or taken apart. */
const MEDIUM = /^\s*(?:(?:image|audio|video|font)\/(?!.*\+xml)|application\/pdf\b)/i;
/** What says that it is a text, or names a form of texts; the rest is one where its bytes are. */
const NAMED_TEXT =
  /^\s*text\/|[/+](?:json|xml|yaml|toml|javascript|x-[a-z]*(?:script|python|sh))\b/i;
const BASE64 = /;\s*base64\s*$/i;
const BASE64_CHARACTERS = /^[\s\w+/=-]*$/;

/**
 * What a file holds that a server may write into a prompt, as texts; none where it is a medium alone, or an address. Servers
 * differ in what they take for a text and in how they decode it, so that each way is read that one of them takes.
 *
 * @param data of the part: a `data:` address, base64 alone, or the address of something to be fetched
 */
export function textsOfData(data: string): string[] {
  const head = DATA.exec(data);
  if (head === null) {
    if (ADDRESS.test(data)) return [];
    // What is no base64 may be taken as it stands.
    return BASE64_CHARACTERS.test(data) ? decoded(data, false) : [data];
  }
  const type = head[1] ?? '';
  const rest = data.slice(head[0].length);
  if (!BASE64.test(type)) return [...new Set([rest, unescaped(rest)])];
  if (MEDIUM.test(type)) return [];
  // Some split at the last mark, and not at the first comma.
  const ways = new Set([rest, rest.split('base64,').at(-1)!]);
  const isNamed = NAMED_TEXT.test(type);
  const texts = [...ways].flatMap((text) => decoded(text, isNamed));
  return BASE64_CHARACTERS.test(rest) ? texts : [...texts, rest];
}

/** Some stop where the padding is, and some go on behind it. */
function decoded(base64: string, isText: boolean): string[] {
  const bytes = Buffer.concat(base64.split(/=+/).map((part) => Buffer.from(part, 'base64')));
  if (isText) return [bytes.toString()];
  return bytes.includes(0) ? [] : inUtf8(bytes);
}

function inUtf8(bytes: Buffer): string[] {
  try {
    return [utf8.decode(bytes)];
  } catch {
    return [];
  }
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
