import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { stringEnd } from '#shared/kernel/json-text.ts';
import { callsIn } from './responses/output.ts';
import { textOfChoice, usageIn } from './usage.ts';

/** How a chunk begins and ends around the one text in it that differs from the chunks beside it. */
interface Around {
  before: string;
  after: string;
}

/** What a chunk was and what became of it, around the text in both. */
interface Learned {
  given: Around;
  sent: Around;
  /** The choice that speaks. */
  index: number;
}

/** A chunk that is another one with another text. */
export interface PlainChunk {
  /** What was generated. */
  text: string;
  index: number;
  /** The payload that is sent on. */
  payload: string;
}

/**
 * Knows chunks that say what the one before said, but for a text: most of a stream. What stands around that text was read
 * and written once; that the rest is the same, letter by letter, is all that is to be known of the next. A text with an
 * escape, or with a character that has none where it should, is none of these.
 */
export class PlainChunks {
  readonly #member: 'content' | 'text';
  #learned: Learned | undefined;

  constructor(member: 'delta' | 'text') {
    this.#member = member === 'delta' ? 'content' : 'text';
  }

  /**
   * Learns from a chunk with one choice that says a text and is not its end.
   * @param sent what became of it
   */
  learn(given: string, chunk: JsonObject, sent: string): void {
    if (this.#learned !== undefined) return;
    const index = this.#speakerOf(chunk);
    if (index === undefined) return;
    const around = { given: this.#around(given), sent: this.#around(sent) };
    if (around.given === undefined || around.sent === undefined) return;
    this.#learned = { given: around.given, sent: around.sent, index };
  }

  /** The given payload, where it is a chunk that is known but for its text. */
  read(given: string): PlainChunk | undefined {
    if (this.#learned === undefined) return undefined;
    const { given: known, sent, index } = this.#learned;
    const end = given.length - known.after.length;
    if (end <= known.before.length) return undefined;
    if (!given.startsWith(known.before) || !given.endsWith(known.after)) return undefined;
    const text = given.slice(known.before.length, end);
    if (!PLAIN.test(text)) return undefined;
    return { text, index, payload: sent.before + text + sent.after };
  }

  /** Chunks that say something else are coming. */
  forget(): void {
    this.#learned = undefined;
  }

  /** The index of the one choice, where it says a text, nothing else that counts, and nothing of an end. */
  #speakerOf(chunk: JsonObject): number | undefined {
    if (isObject(usageIn(chunk))) return undefined;
    const [choice, more] = listOf(chunk['choices']);
    if (more !== undefined || !isObject(choice) || typeof choice['index'] !== 'number')
      return undefined;
    const said = this.#member === 'content' ? choice['delta'] : choice;
    if (!isObject(said)) return undefined;
    const text = said[this.#member];
    // Another text than the probe, which would be found there wherever it was put.
    if (typeof text !== 'string' || text === '' || text === PROBE) return undefined;
    // What is thought or called beside it is noted as well, and would be passed over.
    if (textOfChoice(choice) !== text || callsIn(said).length > 0) return undefined;
    if (choice['finish_reason'] !== undefined && choice['finish_reason'] !== null) return undefined;
    return choice['index'];
  }

  /** Where the text stands, if that can be told: its member is named once, and another text there is read as that text. */
  #around(payload: string): Around | undefined {
    const [start, more] = payload.matchAll(this.#member === 'content' ? CONTENT : TEXT);
    if (start === undefined || more !== undefined) return undefined;
    const quote = start.index + start[0].length - 1;
    const before = payload.slice(0, quote + 1);
    const after = payload.slice(stringEnd(payload, quote) - 1);
    const probe = JSON.parse(`${before}${PROBE}${after}`) as JsonObject;
    const [choice] = listOf(probe['choices']);
    const said = isObject(choice) && this.#member === 'content' ? choice['delta'] : choice;
    return isObject(said) && said[this.#member] === PROBE ? { before, after } : undefined;
  }
}

const CONTENT = /"content"\s*:\s*"/g;
const TEXT = /"text"\s*:\s*"/g;
const PROBE = 'probe';
/** What stands for itself between two quotes of JSON. */
// eslint-disable-next-line no-control-regex -- these are what must not stand there
const PLAIN = /^[^"\\\u0000-\u001f]+$/;
