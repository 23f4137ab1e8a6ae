import { isObject, type JsonObject, listOf, placeOf } from '#shared/kernel/json-object.ts';
import { GrowingText } from './growing-text.ts';
import { UpstreamError } from './providers/upstream-failure.ts';
import { calledBy } from './responses/output.ts';

/** What a piece of a call says. */
interface Piece {
  index: number | undefined;
  id: string;
  name: string;
  input: string;
  /** It is of a custom tool, whose input is any text and has no end of its own. */
  isCustom: boolean;
}

interface Call {
  /** In the order in which calls appear. */
  place: number;
  /** As its server counts. */
  given: number | undefined;
  id: string;
  name: string;
  input: GrowingText;
  arguments: Arguments;
}

/** No model calls so many tools in one answer; a server that does has no end, and each is kept until that. */
const CALLS_MAX = 16_384;

/**
 * The calls of one choice of a stream, in the order in which they appear. A server says by an index which call a piece
 * belongs to; some give none, or one to all of them, and are understood by ids, names and places.
 */
export class ToolCalls {
  readonly #calls: Call[] = [];
  /** The last call of an index, of an id, and of both: looking through all of them for each piece would take hours of a frame. */
  readonly #lastOf = new Map<string, Call>();
  /** The only call that the last pieces belonged to. */
  #last: Call | undefined;

  /** Characters of their inputs, which are kept to tell calls apart. */
  get chars(): number {
    return this.#calls.reduce((sum, { input }) => sum + input.length, 0);
  }

  /**
   * The delta with the index of its call on each piece; the same object where its server has them so.
   * @throws UpstreamError where a piece may belong to one call or to another: a merged call would be run; and where there is
   * no end of them
   */
  indexed(given: JsonObject): JsonObject {
    if (!Array.isArray(given['tool_calls'])) return given;
    const delta = withArgumentsAsText(given);
    const pieces = listOf(delta['tool_calls']).filter(isObject);
    if (pieces.length === 0) return delta;
    const calls = pieces.map((piece, at) => this.#take(pieceOf(piece), at, pieces.length));
    this.#last = new Set(calls).size === 1 ? calls[0] : undefined;
    const indexes = calls.map(({ place }) => place);
    if (pieces.every((piece, at) => piece['index'] === indexes[at])) return delta;
    const indexed = pieces.map((piece, at) => ({ ...piece, index: indexes[at] }));
    return { ...delta, tool_calls: indexed };
  }

  #take(piece: Piece, at: number, count: number): Call {
    const call = this.#knownFor(piece, at, count) ?? this.#open(piece);
    if (piece.input.trim() !== '' && call.arguments.areWhole) throw inseparable();
    // Some servers repeat the name of a tool, but without an id that may be another call of it.
    const isRepeated = piece.name !== '' && call.input.length > 0 && piece.input !== '';
    if (piece.isCustom && isRepeated && call.id === '') throw inseparable();
    if (call.id === '' && piece.id !== '') {
      call.id = piece.id;
      this.#note(call);
    }
    call.name ||= piece.name;
    call.input.add(piece.input);
    if (!piece.isCustom) call.arguments.take(piece.input);
    return call;
  }

  #open({ index: given }: Piece): Call {
    const place = this.#calls.length;
    if (place === CALLS_MAX) throw endless();
    const [input, args] = [new GrowingText(), new Arguments()];
    const call: Call = { place, given, id: '', name: '', input, arguments: args };
    this.#calls.push(call);
    this.#note(call);
    return call;
  }

  /** Notes what a call is known by, unless a later one is. */
  #note(call: Call): void {
    for (const name of namesOf(call.given, call.id)) {
      const known = this.#lastOf.get(name);
      if (known === undefined || known.place < call.place) this.#lastOf.set(name, call);
    }
  }

  /** The call that a piece continues; undefined where it begins one. */
  #knownFor(piece: Piece, at: number, count: number): Call | undefined {
    if (this.#calls.length === 0) return undefined;
    const { index, id, name } = piece;
    const known = this.#ofIdAndIndex(piece);
    if (known !== undefined) return begins(piece, known) ? undefined : known;
    if (index !== undefined) return undefined;
    if (id !== '') {
      if (name === '') throw inseparable();
      return undefined;
    }
    const last = this.#calls.at(-1)!;
    if (name !== '') return this.#ofName(name, last);
    const ofPlace = count === 1 ? this.#last : this.#ofPlace(at, count);
    if (ofPlace === undefined) throw inseparable();
    return ofPlace;
  }

  /** The call that an id, an index or both point to; undefined where that is none, or one that is not known yet. */
  #ofIdAndIndex({ index, id, name }: Piece): Call | undefined {
    const { ofIndex, ofId: named, ofBoth } = this.#lastCalls(index, id);
    if (ofBoth !== undefined || named === undefined) return ofBoth ?? ofIndex;
    if (ofIndex !== undefined) throw inseparable();
    // Some servers count pieces, and some give one id to all calls.
    if (index === undefined || named.given === undefined || name === '') return named;
    if (name === named.name && !named.arguments.areWhole) throw inseparable();
    return undefined;
  }

  #lastCalls(index: number | undefined, id: string) {
    const known = (name: string | undefined): Call | undefined =>
      name === undefined ? undefined : this.#lastOf.get(name);
    const [ofIndex, ofId] = [nameOfIndex(index), nameOfId(id)];
    return { ofIndex: known(ofIndex), ofId: known(ofId), ofBoth: known(nameOfBoth(index, id)) };
  }

  /** Where only a name is told: another call, or the last one, of which some servers repeat the name. */
  #ofName(name: string, last: Call): Call | undefined {
    if (name !== last.name || last.arguments.areWhole) return undefined;
    if (last.input.length === 0) throw inseparable();
    return last;
  }

  #ofPlace(at: number, count: number): Call | undefined {
    return count === this.#calls.length ? this.#calls[at] : undefined;
  }
}

const nameOfIndex = (index: number | undefined): string | undefined =>
  index === undefined ? undefined : `index ${index}`;
const nameOfId = (id: string): string | undefined => (id === '' ? undefined : `id ${id}`);
const nameOfBoth = (index: number | undefined, id: string): string | undefined =>
  index === undefined || id === '' ? undefined : `${index} ${id}`;

/** What a call with this index and this id is known by. */
function namesOf(index: number | undefined, id: string): string[] {
  const names = [nameOfIndex(index), nameOfId(id), nameOfBoth(index, id)];
  return names.filter((name) => name !== undefined);
}

/**
 * Whether a piece begins another call, though its server gives it the index or the id of a known one.
 * @throws UpstreamError where another name comes before the known one is whole
 */
function begins({ id, name, input }: Piece, known: Call): boolean {
  if (name === '') return false;
  if (id !== '' && known.id !== '' && id !== known.id) return true;
  const { areWhole } = known.arguments;
  if (known.name !== '' && name !== known.name) {
    // Behind an id that is told once, it is the rest of a name.
    const isRest = id === '' && known.id !== '' && known.input.length === 0;
    if (!areWhole && !isRest) throw inseparable();
    return areWhole;
  }
  if (id !== '' && known.id !== '') return false;
  return areWhole && input.trim() !== '' && input !== String(known.input);
}

function pieceOf(piece: JsonObject): Piece {
  const { kind, callId: id, name, input } = calledBy(piece);
  const isCustom = kind === 'custom_tool_call';
  return { index: placeOf(piece['index']), id, name, input, isCustom };
}

/**
 * A message, or a piece of one, whose calls have their arguments as text, which client code parses; the same object where its
 * server writes them so. Some write the object itself, whole.
 */
export function withArgumentsAsText(part: JsonObject): JsonObject {
  const calls = listOf(part['tool_calls']);
  const written = calls.map((call) => {
    const called = isObject(call) ? call['function'] : undefined;
    if (!isObject(called) || !isObject(called['arguments'])) return call;
    const text = JSON.stringify(called['arguments']);
    return { ...(call as JsonObject), function: { ...called, arguments: text } };
  });
  return written.every((call, at) => call === calls[at]) ? part : { ...part, tool_calls: written };
}

function inseparable(): UpstreamError {
  return new UpstreamError({
    kind: 'malformed',
    detail: 'the stream does not say which tool call a piece belongs to',
  });
}

function endless(): UpstreamError {
  const detail = `the stream calls tools more than ${CALLS_MAX} times`;
  return new UpstreamError({ kind: 'malformed', detail });
}

const MARKS = /["\\{}[\]]/g;

/** Knows when the JSON object, or list, of a function's arguments has come to its end, reading each piece of it once. */
export class Arguments {
  #begun: boolean | undefined;
  #depth = 0;
  #quoted = false;
  #escapedAt = -1;
  #length = 0;

  get areWhole(): boolean {
    return this.#begun === true && this.#depth <= 0;
  }

  take(piece: string): void {
    if (this.#begun === undefined && piece.trim() !== '') this.#begun = /^\s*[[{]/.test(piece);
    if (this.#begun)
      for (const { 0: mark, index } of piece.matchAll(MARKS)) this.#see(mark, this.#length + index);
    this.#length += piece.length;
  }

  #see(mark: string, at: number): void {
    if (at === this.#escapedAt) return;
    if (mark === '\\') this.#escapedAt = at + 1;
    else if (mark === '"') this.#quoted = !this.#quoted;
    else if (!this.#quoted) this.#depth += mark === '{' || mark === '[' ? 1 : -1;
  }
}
