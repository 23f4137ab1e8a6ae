import type { JsonObject } from '#shared/kernel/json-object.ts';
import { answerIdIn, modelNamedIn } from './answer-names.ts';
import { GrowingText } from './growing-text.ts';
import { UpstreamError } from './providers/upstream-failure.ts';

/** As many as announce an answer, in events and in characters. */
const ANNOUNCED_MAX = 16;
const ANNOUNCED_CHARS_MAX = 8 * 1024 * 1024;

/**
 * What the streams of servers have in common that speak an interface with named events themselves: events that announce an
 * answer are held until it begins, since the call may be made again until then; and what was generated is kept for counting.
 */
export abstract class AnnouncedEvents {
  readonly #send: (payload: string) => void;
  /** Null once the answer has begun. */
  #announced: string[] | null = [];
  #first: JsonObject | undefined;
  readonly #text = new GrowingText();

  constructor(emit: (payload: string) => void) {
    this.#send = emit;
  }

  get texts(): readonly string[] {
    return [String(this.#text)];
  }

  get kept(): number {
    return this.#text.length;
  }

  get upstreamAnswerId(): string | undefined {
    return answerIdIn(this.#first);
  }

  get modelNamed(): string | undefined {
    return modelNamedIn(this.#first);
  }

  protected get hasBegun(): boolean {
    return this.#announced === null;
  }

  /** Notes how the server calls its answer and its model, where it first says so. */
  protected named(answer: JsonObject): void {
    this.#first ??= answer;
  }

  /**
   * Holds an event until the answer begins; sends it once that has.
   * @throws UpstreamError where its server announces without end
   */
  protected announce(text: string): void {
    if (this.#announced === null) return this.#send(text);
    this.#announced.push(text);
    const chars = this.#announced.reduce((sum, { length }) => sum + length, 0);
    if (this.#announced.length <= ANNOUNCED_MAX && chars <= ANNOUNCED_CHARS_MAX) return;
    const detail = 'the stream announces an answer again and again, and has none';
    throw new UpstreamError({ kind: 'malformed', detail });
  }

  /** Sends an event of the answer, behind what announced it, with the part of it that was generated; returns whether it has any. */
  protected emit(text: string, said = ''): boolean {
    this.begin();
    this.#send(text);
    this.#text.add(said);
    return said !== '';
  }

  /** Sends what announced the answer. */
  protected begin(): void {
    for (const text of this.#announced ?? []) this.#send(text);
    this.#announced = null;
  }
}
