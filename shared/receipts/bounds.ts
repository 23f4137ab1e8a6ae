import { stringEnd } from '#shared/kernel/json-text.ts';
import { DEPTH_MAX } from './spellings.ts';

/**
 * How much of what costs memory a saved file may hold. A file is bounded by its bytes too, but a few bytes of JSON can
 * become a hundred of an object: at these numbers an answer of 256 MiB is still read in about a gigabyte.
 */
export const BOUNDS = {
  /** What a shorter text holds costs little, and nearly all texts are shorter. */
  unseenChars: 1_048_576,
  /** Levels of nesting. */
  depth: DEPTH_MAX,
  /** Each may have a name of its own. Entries of an audit log in 256 MiB have fewer. */
  members: 10_000_000,
  /** Members of one object: an answer has dozens, each of which is looked at by itself. V8 ends the process at 2^23. */
  objectMembers: 1_000_000,
  /** Elements and members, and the lists and objects that they stand in: numbers of embeddings, of 8 characters each. */
  values: 32_000_000,
  /** A stream has about one for each token. */
  events: 2_000_000,
} as const satisfies Record<string, number>;

export type Bounds = Readonly<Record<keyof typeof BOUNDS, number>>;

/** A file that may be what it should be, and is more than can be judged. */
export class BeyondBounds extends Error {
  constructor(countMax: number, things: string) {
    super(`The file has more than ${countMax} ${things}: too many to be judged.`);
    this.name = 'BeyondBounds';
  }
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What a JSON text holds outside of its strings. */
export type JsonSize = Record<'depth' | 'members' | 'objectMembers' | 'values', number>;

/**
 * Counts what a JSON text holds, in constant memory. In what is no JSON it counts right up to the fault, and no parser
 * comes further.
 */
export function jsonSize(text: string): JsonSize {
  const size = { depth: 0, members: 0, objectMembers: 0, values: 0 };
  /** By depth, of the object that is open there; what is deeper is not counted, and refused for that. */
  const inObject = new Uint32Array(DEPTH_MAX + 1);
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at) - 1;
    else if (code === COMMA) size.values += 1;
    else if (code === COLON) {
      size.members += 1;
      inObject[depth]! += 1;
      if (inObject[depth]! > size.objectMembers) size.objectMembers = inObject[depth]!;
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      size.values += 1;
      depth += 1;
      inObject[depth] = 0;
      if (depth > size.depth) size.depth = depth;
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) depth -= 1;
  }
  return size;
}

/** @throws BeyondBounds */
export function checkSize(size: JsonSize, bounds: Bounds = BOUNDS): void {
  const check = (count: keyof JsonSize, things: string): void => {
    if (size[count] > bounds[count]) throw new BeyondBounds(bounds[count], things);
  };
  check('depth', 'levels of JSON');
  check('members', 'members of JSON');
  check('objectMembers', 'members in one object of JSON');
  check('values', 'values of JSON');
}

/** Looks over a text before it is parsed, where it is long. @throws BeyondBounds */
export function checkJson(text: string, bounds: Bounds = BOUNDS): void {
  if (text.length > bounds.unseenChars) checkSize(jsonSize(text), bounds);
}
