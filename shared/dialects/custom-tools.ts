import { isObject, type JsonObject, textOf } from '#shared/kernel/json-object.ts';

/**
 * Tools that take any text, as functions with one argument: few servers of chats know another kind, and the others refuse
 * the whole request.
 */

/** The argument that is the text. */
const ARGUMENT = 'input';
/** Codex's grammar of a patch has one and a half thousand characters. Half a grammar would say something else, so a longer one is left out. */
const GRAMMAR_CHARS_MAX = 16_384;

/** A custom tool of a request for a response, as a function of one. */
export function functionOfCustom({ name, description, format }: JsonObject): JsonObject {
  const input = { type: 'string', description: inputDescription(format) };
  return {
    name,
    description,
    parameters: {
      type: 'object',
      properties: { [ARGUMENT]: input },
      required: [ARGUMENT],
      additionalProperties: false,
    },
  };
}

function inputDescription(format: unknown): string {
  const whole = 'All that the tool is given, as it is to be read: plain text, and no JSON of it.';
  if (!isObject(format) || format['type'] !== 'grammar') return whole;
  const syntax = textOf(format['syntax']);
  const definition = textOf(format['definition']) ?? '';
  const grammar = syntax === undefined ? 'its grammar' : `its grammar (${syntax})`;
  if (definition === '' || definition.length > GRAMMAR_CHARS_MAX) return whole;
  return `${whole} It must follow ${grammar}:\n${definition}`;
}

/** The text that such a tool was given, as a function's arguments. */
export function argumentsOfCustom(input: unknown): string {
  return JSON.stringify({ [ARGUMENT]: input });
}

/** How the arguments begin, but for white space. */
const OPENING = `{"${ARGUMENT}":"`;
/** Places in it before which white space may stand: around the braces and the colon. */
const SPACED: ReadonlySet<number> = new Set([0, 1, OPENING.length - 2, OPENING.length - 1]);
const MARK = /["\\]/g;
const ESCAPES: ReadonlyMap<string | undefined, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
]);

/**
 * Reads the text of a custom tool from the arguments of its function, piece by piece as they come. Arguments that begin
 * otherwise wait for their end: where they are no such object they are the text themselves. A text that was cut off is what
 * came of it, and an escape that JSON does not have stays as it is.
 */
export class CustomInput {
  /** Where in the opening it is; undefined where the arguments have another. */
  #at: number | undefined = 0;
  /** All of it, while it is not known to begin as expected. */
  #raw: string[] = [];
  #isOver = false;
  /** The beginning of an escape, or of a character in two halves. */
  #held = '';

  /** The text that a further piece of the arguments has. */
  take(piece: string): string {
    if (this.#at === OPENING.length) return this.#decoded(piece);
    this.#raw.push(piece);
    for (let place = 0; place < piece.length && this.#at !== undefined; place += 1) {
      if (piece[place] === OPENING[this.#at]) this.#at += 1;
      else if (!SPACED.has(this.#at) || piece[place]!.trim() !== '') this.#at = undefined;
      if (this.#at !== OPENING.length) continue;
      this.#raw = [];
      return this.#decoded(piece.slice(place + 1));
    }
    return '';
  }

  /** The text that was not told before, now that there is no more. */
  end(): string {
    const raw = this.#raw.join('');
    this.#raw = [];
    return raw === '' ? '' : (inputIn(raw) ?? raw);
  }

  #decoded(piece: string): string {
    if (this.#isOver) return '';
    const all = this.#held + piece;
    this.#held = '';
    let text = '';
    let at = 0;
    MARK.lastIndex = 0;
    for (let mark = MARK.exec(all); mark !== null; mark = MARK.exec(all)) {
      text += all.slice(at, mark.index);
      at = mark.index;
      if (mark[0] === '"') {
        this.#isOver = true;
        return text;
      }
      const escape = escapeAt(all, at);
      if (escape === undefined) {
        this.#held = all.slice(at);
        return this.#whole(text);
      }
      text += escape.text;
      at += escape.length;
      MARK.lastIndex = at;
    }
    return this.#whole(text + all.slice(at));
  }

  /** Keeps half of a character back: clients join texts that they have read one by one. */
  #whole(text: string): string {
    if (!/[\uD800-\uDBFF]$/.test(text)) return text;
    this.#held = text.slice(-1) + this.#held;
    return text.slice(0, -1);
  }
}

/** An escape of JSON, and how long it is; undefined where its end is still to come. */
function escapeAt(all: string, at: number): { text: string; length: number } | undefined {
  const kind = all[at + 1];
  if (kind === undefined) return undefined;
  if (kind !== 'u') {
    const text = ESCAPES.get(kind);
    return text === undefined ? { text: '\\', length: 1 } : { text, length: 2 };
  }
  const digits = all.slice(at + 2, at + 6);
  if (/^[\da-fA-F]{4}$/.test(digits))
    return { text: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 };
  const mayGoOn = at + 2 + digits.length === all.length && /^[\da-fA-F]*$/.test(digits);
  return mayGoOn ? undefined : { text: '\\', length: 1 };
}

function inputIn(text: string): string | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    return isObject(parsed) ? textOf(parsed[ARGUMENT]) : undefined;
  } catch {
    return undefined;
  }
}
