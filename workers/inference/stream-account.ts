import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import { isFinished } from './finish-reason.ts';
import { GrowingText } from './growing-text.ts';
import { isObject, type JsonObject, listOf, placeOf } from '#shared/kernel/json-object.ts';
import { UpstreamError } from './providers/upstream-failure.ts';
import { ToolCalls } from './tool-calls.ts';
import { behind, readUsage, textOfChoice, usageIn } from './usage.ts';

/** What a chunk says. */
export interface Noted {
  /** Its choices as a client can read them. */
  choices: readonly JsonObject[];
  /** Its server wrote them so. */
  isAsCame: boolean;
  /** Those of them that come to their end. */
  ends: readonly number[];
  speaks: boolean;
}

/** Where the choices of a stream have what is generated: of chats, and of completions. */
export type ChoiceMember = 'delta' | 'text';

/** As many as one request may ask for: of 128 prompts eight each. What is known of a choice is kept until the end. */
const CHOICES_MAX = 1_024;

/** What a stream of chunks has said so far: text, usage, and which of its choices have come to their end. */
export class StreamAccount {
  readonly #member: ChoiceMember;
  #first: JsonObject | undefined;
  #usage: Usage | undefined;
  #theirUsage: unknown;
  /** Something was generated after that was told. */
  #isBehind = false;
  /** What was generated, by the index of its choice; the first apart, since most answers have no other. */
  readonly #text = new GrowingText();
  readonly #others = new Map<number, GrowingText>();
  /** By the choices that have come to their end, the reason that was told last. */
  readonly #finished = new Map<number, unknown>();
  readonly #seen = new Set<number>();
  /** Those that came in deltas. */
  readonly #withDeltas = new Set<number>();
  readonly #calls = new Map<number, ToolCalls>();
  #energy: Endpoint['energy'];

  constructor(member: ChoiceMember) {
    this.#member = member;
  }

  /** The first chunk with a choice. */
  get first(): JsonObject | undefined {
    return this.#first;
  }

  /** Tokens as the upstream counted them, if it did: what it says last counts, but for zeros behind a count. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** That was told with what was generated last, or behind it: what is told before counts a part of the answer. */
  get isUsageOfAll(): boolean {
    return this.#usage !== undefined && !this.#isBehind;
  }

  /** In its own words. */
  get theirUsage(): unknown {
    return this.#theirUsage;
  }

  /** Everything generated so far, choice by choice. */
  get texts(): readonly string[] {
    return [this.#text, ...this.#others.values()].map(String);
  }

  /** Characters of that. */
  get chars(): number {
    let chars = this.#text.length;
    for (const { length } of this.#others.values()) chars += length;
    return chars;
  }

  /** Characters that are in memory until the end: those, and the inputs of calls once more. */
  get kept(): number {
    let { chars } = this;
    for (const calls of this.#calls.values()) chars += calls.chars;
    return chars;
  }

  /** Every choice that appeared has its finish reason. */
  get isFinished(): boolean {
    return this.#seen.size > 0 && this.#finished.size === this.#seen.size;
  }

  /** The choices that have come to their end, with their reasons. */
  get reasons(): ReadonlyMap<number, unknown> {
    return this.#finished;
  }

  /** A stream begins, of a server that reports energy like this. */
  readFrom(energy: Endpoint['energy']): void {
    this.#energy = energy;
    this.#usage = undefined;
    this.#theirUsage = undefined;
    this.#isBehind = false;
  }

  /**
   * Takes a chunk; undefined when it has no choice.
   * @throws UpstreamError where it cannot be said which call of a tool is meant, and where there is no end of choices
   */
  note(chunk: JsonObject): Noted | undefined {
    const given = listOf(chunk['choices']);
    let isCounted = this.#noteUsage(usageIn(chunk), given.length > 0);
    if (isCounted) this.#isBehind = false;
    if (given.length === 0) return undefined;
    this.#first ??= chunk;
    const choices: JsonObject[] = [];
    const ends: number[] = [];
    let speaks = false;
    for (const [at, one] of given.entries()) {
      if (!isObject(one)) continue;
      isCounted = this.#noteUsage(one['usage'], true) || isCounted;
      const index = placeOf(one['index'] ?? at) ?? 0;
      const choice = this.#member === 'delta' ? this.#withDelta(one, index) : one;
      this.#seen.add(index);
      if (this.#seen.size > CHOICES_MAX) throw endless();
      const ended = isFinished(choice);
      // Servers send usage, or what their filters found, after the end, in a choice that says nothing.
      if (!ended && this.#finished.has(index) && saysNothing(choice[this.#member])) continue;
      const readable = this.#readable(choice, index);
      choices.push(readable);
      if (this.#noteText(textOfChoice(readable), index)) speaks = true;
      if (!ended) continue;
      this.#finished.set(index, choice['finish_reason']);
      ends.push(index);
    }
    if (speaks || isCounted) this.#isBehind = !isCounted;
    const isAsCame =
      choices.length === given.length && choices.every((choice, at) => choice === given[at]);
    return { choices, isAsCame, ends, speaks };
  }

  /** Takes more of the text of a choice that has spoken before and has not come to its end. */
  noteMore(text: string, index: number): void {
    this.#noteText(text, index);
    this.#isBehind = true;
  }

  /** Some servers write a piece of an answer as a message, and some send the whole as one behind its pieces. */
  #withDelta(choice: JsonObject, index: number): JsonObject {
    if (isObject(choice['delta'])) this.#withDeltas.add(index);
    else if (isObject(choice['message'])) {
      const { message, ...rest } = choice;
      const isRepeated =
        this.#withDeltas.has(index) && textOfChoice({ message }) === String(this.#textOf(index));
      return { ...rest, delta: isRepeated ? {} : message };
    }
    return choice;
  }

  #noteText(text: string, index: number): boolean {
    if (text === '') return false;
    this.#textOf(index).add(text);
    return true;
  }

  #textOf(index: number): GrowingText {
    if (index === 0) return this.#text;
    let text = this.#others.get(index);
    if (text === undefined) this.#others.set(index, (text = new GrowingText()));
    return text;
  }

  /** Some servers write zeros where they know nothing: beside a choice, or behind a count, they are none. Returns whether it is one. */
  #noteUsage(theirs: unknown, isBesideChoice: boolean): boolean {
    const usage = readUsage(theirs, this.#energy);
    if (usage === undefined) return false;
    const isZero = usage.inputTokens + usage.outputTokens === 0;
    if (isZero && (isBesideChoice || this.#usage !== undefined)) return false;
    this.#usage = behind(this.#usage, usage);
    this.#theirUsage = theirs;
    return true;
  }

  /**
   * A choice as client code reads it: with an index, with a delta or a text, with the index of each call, without usage. The
   * same object where its server has it so.
   */
  #readable(choice: JsonObject, index: number): JsonObject {
    let readable = choice['usage'] === undefined ? choice : withoutUsage(choice);
    if (choice['index'] !== index) readable = { ...readable, index };
    const said = choice[this.#member];
    if (this.#member === 'text')
      return typeof said === 'string' ? readable : { ...readable, text: '' };
    const delta = isObject(said) ? this.#callsOf(index).indexed(said) : {};
    return delta === said ? readable : { ...readable, delta };
  }

  #callsOf(index: number): ToolCalls {
    let calls = this.#calls.get(index);
    if (calls === undefined) this.#calls.set(index, (calls = new ToolCalls()));
    return calls;
  }
}

function endless(): UpstreamError {
  const detail = `the stream has more than ${CHOICES_MAX} choices`;
  return new UpstreamError({ kind: 'malformed', detail });
}

function withoutUsage(choice: JsonObject): JsonObject {
  const { usage: _, ...rest } = choice;
  return rest;
}

/** Whether a text or a delta holds nothing that was generated. */
function saysNothing(said: unknown): boolean {
  if (!isObject(said)) return said == null || said === '';
  return Object.entries(said).every(([key, value]) => key === 'role' || isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value == null || value === '';
}
