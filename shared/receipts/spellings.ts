import { skipSpace, stringEnd } from '#shared/kernel/json-text.ts';

/** How a program writes JSON. */
interface Spelling {
  name: string;
  /** After a comma and after a colon, where nothing is indented. */
  comma: string;
  colon: string;
  indent: number;
  isAscii: boolean;
}

/**
 * Forms in which the JSON of a file is tried when its bytes do not fit: programs that save an answer write it again, and
 * what was signed is how it was sent.
 */
const SPELLINGS: readonly Spelling[] = [
  { name: 'compact', comma: ',', colon: ':', indent: 0, isAscii: false },
  { name: 'with Python’s spacing', comma: ', ', colon: ': ', indent: 0, isAscii: false },
  { name: 'with Python’s spacing, in ASCII', comma: ', ', colon: ': ', indent: 0, isAscii: true },
  { name: 'indented by two spaces', comma: ',', colon: ': ', indent: 2, isAscii: false },
  { name: 'indented by four spaces', comma: ',', colon: ': ', indent: 4, isAscii: false },
];

/** Indented, a text may be three times as long; longer than this it is compared as it is. */
const RESPELLED_CHARS_MAX = 32 * 1_048_576;

/** Written in ASCII a text is six times as long at most; one that indentation makes longer was sent by nobody. */
const WRITTEN_CHARS_MAX = 6 * RESPELLED_CHARS_MAX;

/** Levels of nesting, each of which is indented by more than the one before it. */
const DEPTH_MAX = 512;

/** What was tried, for people. */
export const TRIED =
  'its bytes, the same without line breaks (as curl -d sends a file), and its JSON compact, with Python’s spacing, and indented by two and four spaces';

/** One way of writing a content. */
export interface Spelled {
  /** Undefined for how it was given. */
  name: string | undefined;
  pieces: readonly string[];
}

/** Ways in which a content may have been written before a program wrote it again, the likeliest first. */
export function* spellingsOf(given: readonly string[]): Generator<Spelled> {
  yield* withAndWithoutEnd(undefined, given);
  // Some editors put a byte order mark first, which is no part of what they were given.
  const pieces = given.map((text, index) => (index === 0 ? text.replace(/^\uFEFF/, '') : text));
  if (pieces[0] !== given[0]) yield* withAndWithoutEnd(undefined, pieces);
  yield {
    name: 'without line breaks',
    pieces: pieces.map((text) => text.replaceAll(/[\r\n]/g, '')),
  };
  const chars = pieces.reduce((sum, { length }) => sum + length, 0);
  if (chars > RESPELLED_CHARS_MAX || !pieces.every(isJson)) return;
  for (const spelling of SPELLINGS) {
    const written = allRespelled(pieces, spelling);
    if (written !== undefined) yield* withAndWithoutEnd(spelling.name, written);
  }
}

/** Undefined where a piece is nested too deep, or all of them become too long. */
function allRespelled(pieces: readonly string[], spelling: Spelling): string[] | undefined {
  const all: string[] = [];
  let left = WRITTEN_CHARS_MAX;
  for (const piece of pieces) {
    const written = respelled(piece, spelling, left);
    if (written === undefined) return undefined;
    left -= written.length;
    all.push(written);
  }
  return all;
}

/** Servers that end an answer by a line feed are as common as those that do not, and what was pasted has lost it. */
function* withAndWithoutEnd(name: Spelled['name'], pieces: readonly string[]): Generator<Spelled> {
  yield { name, pieces };
  if (pieces.length === 1) yield { name, pieces: [`${pieces[0]!}\n`] };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * JSON with other white space and escapes; numbers keep their digits, and members their order. Undefined where it is
 * nested deeper than is tried, or longer than `charsMax`.
 */
function respelled(
  text: string,
  { comma, colon, indent, isAscii }: Spelling,
  charsMax: number,
): string | undefined {
  let written = '';
  let depth = 0;
  const line = (): string => (indent === 0 ? '' : `\n${' '.repeat(indent * depth)}`);
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    if (depth > DEPTH_MAX || written.length > charsMax) return undefined;
    const character = text[at]!;
    if (character === '"') {
      const end = stringEnd(text, at);
      written += stringIn(text.slice(at, end), isAscii);
      at = end;
    } else if (character === '{' || character === '[') {
      const next = skipSpace(text, at + 1);
      const isEmpty = text[next] === '}' || text[next] === ']';
      if (!isEmpty) depth += 1;
      written += isEmpty ? character + text[next]! : character + line();
      at = isEmpty ? next + 1 : at + 1;
    } else if (character === '}' || character === ']') {
      depth -= 1;
      written += line() + character;
      at += 1;
    } else if (character === ',' || character === ':') {
      written += character === ',' ? comma + line() : colon;
      at += 1;
    } else {
      const [literal] = /^[^\s,:\]}]+/.exec(text.slice(at, at + LITERAL_CHARS))!;
      written += literal;
      at += literal.length;
    }
  }
  return written.length > charsMax ? undefined : written;
}

/** A longer number is written in parts, which follow each other. */
const LITERAL_CHARS = 64;

function stringIn(text: string, isAscii: boolean): string {
  const written = JSON.stringify(JSON.parse(text));
  return isAscii ? written.replaceAll(/[\u007F-\uFFFF]/g, escaped) : written;
}

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
