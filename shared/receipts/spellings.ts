import { skipSpace, stringEnd } from '#shared/kernel/json-text.ts';

/** Characters that are escaped though JSON does not ask for it. */
const ESCAPED = {
  ascii: /[\u007F-\uFFFF]/g,
  go: /[<>&\u2028\u2029]/g,
} as const;

/** How a program writes JSON. */
interface Spelling {
  name: string;
  /** After a comma and after a colon, where nothing is indented. */
  comma: string;
  colon: string;
  indent: number;
  escapes?: keyof typeof ESCAPED;
}

const COMPACT = { comma: ',', colon: ':', indent: 0 };
const PYTHON = { comma: ', ', colon: ': ', indent: 0 };
const BY_TWO = { comma: ',', colon: ': ', indent: 2 };
const BY_FOUR = { comma: ',', colon: ': ', indent: 4 };

/**
 * Forms in which the JSON of a file is tried when its text does not fit, the likeliest first: programs that save an
 * answer write it again, and what was signed is how it was sent.
 */
export const SPELLINGS: readonly Spelling[] = [
  { name: 'compact', ...COMPACT },
  { name: 'compact in ASCII', ...COMPACT, escapes: 'ascii' },
  { name: 'compact as Go writes it', ...COMPACT, escapes: 'go' },
  { name: 'with Python’s spacing', ...PYTHON },
  { name: 'with Python’s spacing in ASCII', ...PYTHON, escapes: 'ascii' },
  { name: 'indented by two spaces', ...BY_TWO },
  { name: 'indented by two spaces in ASCII', ...BY_TWO, escapes: 'ascii' },
  { name: 'indented by four spaces', ...BY_FOUR },
  { name: 'indented by four spaces in ASCII', ...BY_FOUR, escapes: 'ascii' },
];

/** Longer texts are compared as they are: each form of this one takes a browser about a second. */
export const RESPELLED_CHARS_MAX = 32 * 1_048_576;

/** Levels of nesting, each of which is indented by more than the one before it. */
export const DEPTH_MAX = 512;

/** How much is read or written at a time, before others have their turn: some milliseconds of a slow machine. */
export const SLICE_CHARS = 65_536;

/** Takes what one spelling writes. */
export interface Written {
  spelling: Spelling;
  write: (text: string) => void;
}

/** Spellings that write this JSON each in its own way: what has nothing to be escaped is the same in several. */
export function spellingsThatDiffer(pieces: readonly string[]): readonly Spelling[] {
  const holds = (pattern: RegExp): boolean => pieces.some((text) => pattern.test(text));
  const differ = {
    ascii: holds(/[\u007F-\uFFFF]|\\u/),
    go: holds(/[<>&\u2028\u2029]|\\u/),
  };
  return SPELLINGS.filter(({ escapes }) => escapes === undefined || differ[escapes]);
}

/**
 * Writes a JSON text in several spellings at once; numbers keep their digits, and members their order. Stops after each
 * slice, with how many characters it has read since the last stop.
 * @param text nested no deeper than DEPTH_MAX
 */
export function* respell(text: string, all: readonly Written[]): Generator<number> {
  let depth = 0;
  let stopped = 0;
  const both = (bracket: string): void => {
    for (const { spelling, write } of all) write(bracket + lineOf(spelling, depth));
  };
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const character = text[at]!;
    if (character === '"') {
      const end = stringEnd(text, at);
      const plain = text.slice(at, end);
      const string = plain.includes('\\') ? JSON.stringify(JSON.parse(plain)) : plain;
      for (const slice of slicesOf(string)) {
        writeString(slice, all);
        if (slice.length < SLICE_CHARS) continue;
        yield SLICE_CHARS;
        stopped += SLICE_CHARS;
      }
      at = end;
    } else if (character === '{' || character === '[') {
      const next = skipSpace(text, at + 1);
      if (text[next] === '}' || text[next] === ']') {
        for (const { write } of all) write(character + text[next]);
        at = next + 1;
      } else {
        depth += 1;
        both(character);
        at += 1;
      }
    } else if (character === '}' || character === ']') {
      depth -= 1;
      for (const { spelling, write } of all) write(lineOf(spelling, depth) + character);
      at += 1;
    } else if (character === ',') {
      for (const { spelling, write } of all) write(spelling.comma + lineOf(spelling, depth));
      at += 1;
    } else if (character === ':') {
      for (const { spelling, write } of all) write(spelling.colon);
      at += 1;
    } else {
      const end = literalEnd(text, at);
      const literal = text.slice(at, end);
      for (const { write } of all) write(literal);
      at = end;
    }
    if (at - stopped >= SLICE_CHARS) {
      yield at - stopped;
      stopped = at;
    }
  }
  yield text.length - stopped;
}

/** A text in parts that are read at a time. */
export function* slicesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += SLICE_CHARS) yield text.slice(at, at + SLICE_CHARS);
}

const LINES = new Map<number, string>();

function lineOf({ indent }: Spelling, depth: number): string {
  if (indent === 0) return '';
  const spaces = indent * depth;
  let line = LINES.get(spaces);
  if (line === undefined) LINES.set(spaces, (line = `\n${' '.repeat(spaces)}`));
  return line;
}

/** Each is escaped once for all that escape alike. */
function writeString(slice: string, all: readonly Written[]): void {
  const escaped: Partial<Record<keyof typeof ESCAPED, string>> = {};
  for (const { spelling, write } of all) {
    const { escapes } = spelling;
    write(
      escapes === undefined
        ? slice
        : (escaped[escapes] ??= slice.replaceAll(ESCAPED[escapes], escapeOf)),
    );
  }
}

/** The index after a number, `true`, `false` or `null`. */
function literalEnd(text: string, start: number): number {
  const end = /[\s,\]}]/g;
  end.lastIndex = start;
  return end.exec(text)?.index ?? text.length;
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
