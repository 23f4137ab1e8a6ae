/**
 * Edits the top-level members of a JSON object in its text, without parsing and writing the rest again.
 *
 * What a client sends and what an upstream answers must arrive as it was: `1.0` stays `1.0`, integers above
 * 2^53 keep their digits, key order and white space survive. The input must be valid JSON whose top level is
 * an object (it came through a JSON parser); nothing is validated here, so nothing is paid for it twice.
 */

/** One member of an object, as offsets into the text. `start` is the key's opening quote, `end` equals `valueEnd`. */
export interface Member {
  /** The key with its escapes resolved: `"\u006dodel"` is `model`. */
  key: string;
  start: number;
  end: number;
  valueStart: number;
  valueEnd: number;
}

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The members of the object that starts at or after `from`, duplicates included, in the order of the text. */
export function members(text: string, from = 0): Member[] {
  const found: Member[] = [];
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (text.charCodeAt(at) === QUOTE) {
    const keyEnd = stringEnd(text, at);
    // The character after the key and its white space is the colon.
    const valueStart = skipSpace(text, skipSpace(text, keyEnd) + 1);
    const valueEnd = endOfValue(text, valueStart);
    found.push({
      key: keyText(text, at, keyEnd),
      start: at,
      end: valueEnd,
      valueStart,
      valueEnd,
    });
    at = skipSpace(text, valueEnd);
    if (text.charCodeAt(at) !== COMMA) break;
    at = skipSpace(text, at + 1);
  }
  return found;
}

/** Where each element of the array stands that begins at or after `from`, in order. */
export function elements(text: string, from = 0): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = [];
  let at = skipSpace(text, skipSpace(text, from) + 1);
  while (at < text.length && text.charCodeAt(at) !== CLOSE_BRACKET) {
    const end = endOfValue(text, at);
    found.push({ start: at, end });
    at = skipSpace(text, end);
    if (text.charCodeAt(at) === COMMA) at = skipSpace(text, at + 1);
  }
  return found;
}

/** The text of a top-level value, or undefined when there is none. Of duplicates it is the last, as `JSON.parse` reads it. */
export function memberText(text: string, key: string): string | undefined {
  const member = members(text).findLast((candidate) => candidate.key === key);
  return member === undefined ? undefined : text.slice(member.valueStart, member.valueEnd);
}

/** The text without the members of these names (every occurrence). The same string when there is nothing to drop. */
export function dropMembers(text: string, keys: readonly string[]): string {
  if (!mayHold(text, keys)) return text;
  const all = members(text);
  const kept = all.filter((member) => !keys.includes(member.key));
  if (kept.length === all.length) return text;
  const first = all[0]!;
  let edited = text.slice(0, first.start);
  for (const [index, member] of all.entries()) {
    if (keys.includes(member.key)) continue;
    // The comma and the white space before a member belong to it, except for the one that becomes the first.
    const before = index === 0 ? member.start : all[index - 1]!.end;
    edited += text.slice(member === kept[0] ? member.start : before, member.end);
  }
  return edited + text.slice(all.at(-1)!.end);
}

/**
 * The text with `key` set to `valueText` (JSON): replaced where it stands, appended where it is missing.
 * Every duplicate is replaced, so that readers which take the first and readers which take the last agree.
 */
export function setMember(text: string, key: string, valueText: string): string {
  if (!mayHold(text, [key])) return appendMember(text, key, valueText);
  let edited = '';
  let copied = 0;
  for (const member of members(text)) {
    if (member.key !== key) continue;
    edited += text.slice(copied, member.valueStart) + valueText;
    copied = member.valueEnd;
  }
  return copied === 0 ? appendMember(text, key, valueText) : edited + text.slice(copied);
}

/**
 * Adds a member at the end of the object without looking at the others: the caller knows that `key` is not there,
 * or uses `setMember`. Costs the same however long the text is.
 */
export function appendMember(text: string, key: string, valueText: string): string {
  let end = text.lastIndexOf('}');
  while (isSpace(text.charCodeAt(end - 1))) end -= 1;
  const comma = text.charCodeAt(end - 1) === OPEN_BRACE ? '' : ',';
  return `${text.slice(0, end)}${comma}${JSON.stringify(key)}:${valueText}${text.slice(end)}`;
}

/** The index after the closing quote of the string that opens at `quote`. */
export function stringEnd(text: string, quote: number): number {
  let end = text.indexOf('"', quote + 1);
  // A quote after an odd number of backslashes is escaped. The runs are disjoint, so this stays linear.
  while (end !== -1) {
    let run = end - 1;
    while (text.charCodeAt(run) === BACKSLASH) run -= 1;
    if ((end - 1 - run) % 2 === 0) return end + 1;
    end = text.indexOf('"', end + 1);
  }
  return text.length;
}

/** Letters, digits, `_` and `-` have no other escape in JSON than `\u`. */
const PLAIN_KEY = /^[\w-]*$/;

/** False only when it is certain that none of the keys is in the text, however they are spelt. */
function mayHold(text: string, keys: readonly string[]): boolean {
  return (
    keys.some((key) => text.includes(key) || !PLAIN_KEY.test(key)) ||
    (keys.length > 0 && text.includes('\\u'))
  );
}

function keyText(text: string, start: number, end: number): string {
  const plain = text.slice(start + 1, end - 1);
  return plain.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : plain;
}

function isSpace(code: number): boolean {
  return code === SPACE || code === LINE_FEED || code === CARRIAGE_RETURN || code === TAB;
}

/** The index of the first character from `from` on that is no white space. */
export function skipSpace(text: string, from: number): number {
  let at = from;
  while (isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

/** What counts for the end of an object or an array. */
const MARKS = /["[\]{}]/g;
/** Behind so many characters without a mark the next is searched for, which takes a fortieth of looking at each: of vectors. */
const PLAIN_CHARS = 64;

/** The index after the value that starts at `start`. Counts brackets, so depth costs no stack. */
export function endOfValue(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === QUOTE) return stringEnd(text, start);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return endOfLiteral(text, start);
  let depth = 0;
  let at = start;
  let plainFrom = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = stringEnd(text, at);
      plainFrom = at;
      continue;
    }
    at += 1;
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      depth += 1;
      plainFrom = at;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      depth -= 1;
      if (depth === 0) return at;
      plainFrom = at;
    } else if (at - plainFrom > PLAIN_CHARS) {
      MARKS.lastIndex = at;
      if (!MARKS.test(text)) return text.length;
      at = MARKS.lastIndex - 1;
      plainFrom = at;
    }
  }
  return at;
}

/** The index after a number, `true`, `false` or `null`. */
function endOfLiteral(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === CLOSE_BRACE || code === CLOSE_BRACKET || isSpace(code)) break;
    at += 1;
  }
  return at;
}
