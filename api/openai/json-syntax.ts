import { stringEnd } from '#shared/kernel/json-text.ts';

/**
 * Questions about a JSON text that the built-in parser does not answer: how deep it is (before it is parsed:
 * millions of nested brackets take seconds), whether a name repeats, and where exactly it is wrong.
 */

const QUOTE = 0x22;
const COLON = 0x3a;
/** With this bit set, `[` and `{` are the same character, and so are `]` and `}`. */
const BRACE_BIT = 0x20;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * One pass over any text: how many members its objects have (a colon outside strings is a member) and whether it is
 * nested deeper than `depthMax`. Strings are jumped over with indexOf, so long prompts and images cost almost nothing.
 */
export function scanStructure(
  text: string,
  depthMax: number,
): { members: number; tooDeep: boolean } {
  let members = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === COLON) members += 1;
    else if ((code | BRACE_BIT) === OPEN) {
      depth += 1;
      if (depth > depthMax) return { members, tooDeep: true };
    } else if ((code | BRACE_BIT) === CLOSE) depth -= 1;
  }
  return { members, tooDeep: false };
}

/** Where a member name of a valid JSON text stands for the second time in its object; -1 when all are unique. */
export function repeatedMember(text: string): number {
  const names: Set<string>[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if ((code | BRACE_BIT) === OPEN) names.push(new Set());
    else if ((code | BRACE_BIT) === CLOSE) names.pop();
    if (code !== QUOTE) continue;
    const end = stringEnd(text, at);
    if (text.charCodeAt(skipSpace(text, end)) === COLON) {
      const name = JSON.parse(text.slice(at, end)) as string;
      const seen = names.at(-1)!;
      if (seen.has(name)) return at;
      seen.add(name);
    }
    at = end - 1;
  }
  return -1;
}

/** Where a text stops being JSON: the index of the offending character (the length, when it ends too early); -1 when it is JSON. */
export function firstSyntaxError(text: string): number {
  try {
    const end = skipSpace(text, afterValue(text, skipSpace(text, 0)));
    return end === text.length ? -1 : end;
  } catch (error) {
    if (error instanceof Misplaced) return error.at;
    throw error;
  }
}

/** Never leaves this file. */
class Misplaced extends Error {
  readonly at: number;
  constructor(at: number) {
    super('misplaced character');
    this.at = at;
  }
}

/** Recursive: the caller has bounded the depth with `scanStructure`. */
function afterValue(text: string, at: number): number {
  const first = text.charAt(at);
  if (first === '"') return afterString(text, at);
  if (first === '[') return afterList(text, at, ']', afterValue);
  if (first === '{') return afterList(text, at, '}', afterMember);
  return afterScalar(text, at);
}

function afterList(
  text: string,
  open: number,
  close: ']' | '}',
  afterOne: (text: string, at: number) => number,
): number {
  let at = skipSpace(text, open + 1);
  if (text.charAt(at) === close) return at + 1;
  for (;;) {
    at = skipSpace(text, afterOne(text, at));
    if (text.charAt(at) === close) return at + 1;
    if (text.charAt(at) !== ',') throw new Misplaced(at);
    at = skipSpace(text, at + 1);
  }
}

function afterMember(text: string, at: number): number {
  if (text.charAt(at) !== '"') throw new Misplaced(at);
  const colon = skipSpace(text, afterString(text, at));
  if (text.charAt(colon) !== ':') throw new Misplaced(colon);
  return afterValue(text, skipSpace(text, colon + 1));
}

const SCALAR = /(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)/y;

function afterScalar(text: string, at: number): number {
  SCALAR.lastIndex = at;
  if (!SCALAR.test(text)) throw new Misplaced(at);
  return SCALAR.lastIndex;
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

function afterString(text: string, quote: number): number {
  let at = quote + 1;
  while (at < text.length) {
    const character = text.charAt(at);
    if (character === '"') return at + 1;
    if (character < ' ') throw new Misplaced(at);
    if (character === '\\') {
      ESCAPE.lastIndex = at;
      if (!ESCAPE.test(text)) throw new Misplaced(at);
      at = ESCAPE.lastIndex;
    } else at += 1;
  }
  throw new Misplaced(at);
}

function skipSpace(text: string, from: number): number {
  let at = from;
  for (;;) {
    const code = text.charCodeAt(at);
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at;
    at += 1;
  }
}
