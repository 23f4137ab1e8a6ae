import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { dropMembers, setMember } from '#shared/kernel/json-text.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { inJoules, joulesIn } from '#shared/catalogue/stated-energy.ts';
import { answerIdIn, modelNamedIn } from './answer-names.ts';
import { namerOf } from './our-names.ts';
import { PlainChunks } from './plain-chunks.ts';
import { StreamAccount } from './stream-account.ts';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { toldUsage } from './usage.ts';

/** What passes a stream on to its client, and knows what it was. */
export interface Relay {
  /** Tokens as the upstream counted them, if it did. */
  readonly usage: Usage | undefined;
  /** It counts everything that was generated so far. */
  readonly isUsageOfAll: boolean;
  /** Energy that came in a header, or in a payload at the path of the catalogue. */
  readonly joules: number | undefined;
  /** Everything generated so far, choice by choice, for counting when the upstream did not. */
  readonly texts: readonly string[];
  /** Characters of what was generated that are in memory until the end. */
  readonly kept: number;
  /** The id that the upstream gives the answer. */
  readonly upstreamAnswerId: string | undefined;
  /** The name that the upstream gives the model. */
  readonly modelNamed: string | undefined;
  /** Payloads sent on so far, as far as the receipt is over them. */
  readonly sent: number;
  /** Tokens in them: as the upstream counts while it streams, or else a token for each payload that had text. */
  readonly sentTokens: number;
  /** The items of a response as far as they came; undefined of other answers. */
  readonly output?: readonly JsonObject[] | undefined;
  /** The answer is whole, whether or not `[DONE]` comes. */
  readonly isFinished: boolean;
  /** Says whose stream this is, and so where its energy would be reported. What a stream before it said is forgotten. */
  readFrom(endpoint: Endpoint): void;
  /** Takes the figure that came in a header. */
  measured(stated: number | undefined): void;
  /**
   * Takes a payload as it came, where it is known what it says without parsing it; false where it is not. A stream whose
   * payloads become others has none of these.
   */
  acceptPlain?(given: string): boolean;
  /**
   * Takes one payload, already parsed as `chunk`.
   * @throws UpstreamError where it makes no sense behind those before it
   */
  accept(given: string, chunk: JsonObject): void;
  /** Ends a whole stream: sends what is held and returns the payload that is to carry the receipt. */
  finish(usage: Usage | UnknownUsage): string;
  /** Ends a broken stream: what was held is still the client's. */
  release(): void;
}

/** The tokens that were sent, of which so many payloads had text: what was counted before the last of them may be fewer. */
export function tokensSent(
  { usage, isUsageOfAll }: Pick<Relay, 'usage' | 'isUsageOfAll'>,
  speaking: number,
): number {
  const { outputTokens = 0 } = usage ?? {};
  return isUsageOfAll ? outputTokens : Math.max(outputTokens, speaking);
}

export interface StreamRelayOptions {
  includeUsage: boolean;
  /** The id of the answer, and that of its model in the catalogue, which callers are told. */
  answerId: string;
  model: string;
  object: 'chat.completion.chunk' | 'text_completion';
  /** Sends one payload on to the client. */
  send: (payload: string) => void;
}

interface Payload {
  text: string;
  /** It holds some of what was generated. */
  speaks: boolean;
}

interface HeldPayload extends Payload {
  choices: readonly JsonObject[];
  /** The choices that it says have come to their end. */
  ends: readonly number[];
}

/**
 * Passes a stream on payload by payload, unchanged but for its id, the name of the model, usage, which stands in a last chunk or
 * nowhere, and what client code would stumble over. It holds back the chunks with which choices end: servers end a
 * choice and then go on with it, and one of them will carry the receipt where no chunk with usage does.
 */
export class StreamRelay implements Relay {
  readonly #options: StreamRelayOptions;
  readonly #named: (payload: string, chunk: JsonObject) => string;
  readonly #account: StreamAccount;
  readonly #plain: PlainChunks;
  #held: HeldPayload[] = [];
  #usageChunk: string | undefined;
  #sent = 0;
  /** Those of them that had text. */
  #speaking = 0;
  #energy: Endpoint['energy'];
  #joules: number | undefined;

  constructor(options: StreamRelayOptions) {
    this.#options = options;
    this.#named = namerOf({ id: options.answerId, model: options.model });
    const member = options.object === 'text_completion' ? 'text' : 'delta';
    this.#account = new StreamAccount(member);
    this.#plain = new PlainChunks(member);
  }

  get usage(): Usage | undefined {
    return this.#account.usage;
  }

  get isUsageOfAll(): boolean {
    return this.#account.isUsageOfAll;
  }

  readFrom({ energy }: Endpoint): void {
    this.#energy = energy;
    this.#joules = undefined;
    this.#account.readFrom(energy);
    this.#plain.forget();
    this.#usageChunk = undefined;
  }

  measured(stated: number | undefined): void {
    this.#joules = inJoules(stated, this.#energy) ?? this.#joules;
  }

  get joules(): number | undefined {
    return this.#joules;
  }

  get texts(): readonly string[] {
    return this.#account.texts;
  }

  get kept(): number {
    return this.#account.kept;
  }

  get upstreamAnswerId(): string | undefined {
    return answerIdIn(this.#account.first);
  }

  get modelNamed(): string | undefined {
    return modelNamedIn(this.#account.first);
  }

  get sent(): number {
    return this.#sent;
  }

  get sentTokens(): number {
    return tokensSent(this, this.#speaking);
  }

  get isFinished(): boolean {
    return this.#account.isFinished;
  }

  acceptPlain(given: string): boolean {
    const plain = this.#plain.read(given);
    if (plain === undefined) return false;
    this.#account.noteMore(plain.text, plain.index);
    this.#send({ text: plain.payload, speaks: true });
    return true;
  }

  accept(given: string, chunk: JsonObject): void {
    this.#joules = joulesIn(chunk, this.#energy) ?? this.#joules;
    const noted = this.#account.note(chunk);
    if (noted === undefined) {
      // Much client code reads choices[0] unguarded: a chunk without choices goes out only when it was asked for.
      if (isObject(chunk['usage'])) this.#usageChunk = this.#ours(given, chunk);
      return;
    }
    const { choices, isAsCame, ends, speaks } = noted;
    if (choices.length === 0) return;
    let text = this.#withoutUsage(this.#ours(given, chunk));
    if (!isAsCame) text = setMember(text, 'choices', JSON.stringify(choices));
    this.#sendEndless(choices);
    if (ends.length > 0) this.#held.push({ text, speaks, choices, ends });
    else this.#send({ text, speaks });
    this.#learn(given, chunk, { text, isAsCame, ends });
  }

  /** Behind an end, and where chunks may tell of energy, each is read: what it says may be another thing then. */
  #learn(
    given: string,
    chunk: JsonObject,
    { text, isAsCame, ends }: { text: string; isAsCame: boolean; ends: readonly number[] },
  ): void {
    const isOpen = ends.length === 0 && this.#account.reasons.size === 0;
    if (isOpen && isAsCame && this.#energy?.path === undefined)
      this.#plain.learn(given, chunk, text);
    else this.#plain.forget();
  }

  finish(usage: Usage | UnknownUsage): string {
    const rest: Payload[] = [...this.#held, ...this.#untoldEnds()];
    this.#held = [];
    const { includeUsage } = this.#options;
    const last = includeUsage ? undefined : rest.pop();
    for (const payload of rest) this.#send(payload);
    if (!includeUsage) return last?.text ?? this.#chunk({ choices: [this.#emptyChoice(0, null)] });
    const told = toldUsage(usage, this.#account.theirUsage);
    const chunk = this.#usageChunk ?? this.#chunk({ choices: [] });
    return setMember(chunk, 'usage', JSON.stringify(told));
  }

  release(): void {
    const held = this.#held;
    this.#held = [];
    for (const payload of held) this.#send(payload);
  }

  /**
   * Sends what was held of one of these choices, which goes on: no end stands in it. The ends of its other choices stay
   * held, each in a chunk of its own.
   */
  #sendEndless(choices: readonly JsonObject[]): void {
    if (this.#held.length === 0) return;
    const on = new Set(choices.map(({ index }) => index));
    const goesOn = (held: HeldPayload): boolean => held.choices.some(({ index }) => on.has(index));
    const endless = this.#held.filter(goesOn);
    if (endless.length === 0) return;
    this.#held = this.#held.filter((payload) => !goesOn(payload));
    for (const { text, choices: held, speaks, ends } of endless) {
      const open = held.map((choice) => ({ ...choice, finish_reason: null }));
      this.#send({ text: setMember(text, 'choices', JSON.stringify(open)), speaks });
      for (const index of ends) if (!on.has(index)) this.#held.push(this.#endOf(index));
    }
  }

  /** A chunk for each end that its server told beside something that was not the last of its choice. */
  #untoldEnds(): Payload[] {
    const told = new Set(this.#held.flatMap(({ ends }) => ends));
    const untold = [...this.#account.reasons.keys()].filter((index) => !told.has(index));
    return untold.map((index) => this.#endOf(index));
  }

  #endOf(index: number): HeldPayload {
    const choices = [this.#emptyChoice(index, this.#account.reasons.get(index))];
    const text = this.#withoutUsage(this.#chunk({ choices }));
    return { text, speaks: false, choices, ends: [index] };
  }

  #send({ text, speaks }: Payload): void {
    this.#sent += 1;
    if (speaks) this.#speaking += 1;
    this.#options.send(text);
  }

  /** A chunk that says of its answer what all chunks do, where it says it at all, and has usage in one place. */
  #ours(given: string, chunk: JsonObject): string {
    let ours = this.#named(given, chunk);
    const { x_groq: groq } = chunk;
    if (isObject(groq) && groq['usage'] !== undefined)
      ours = setMember(ours, 'x_groq', JSON.stringify({ ...groq, usage: undefined }));
    const { object } = this.#options;
    if (chunk['object'] !== undefined && chunk['object'] !== object)
      ours = setMember(ours, 'object', JSON.stringify(object));
    const created = this.#account.first?.['created'];
    if (chunk['created'] !== undefined && created !== undefined && chunk['created'] !== created)
      ours = setMember(ours, 'created', JSON.stringify(created));
    return ours;
  }

  /** Who asked for usage gets it once, in the last chunk: libraries add up what they find. */
  #withoutUsage(text: string): string {
    return this.#options.includeUsage
      ? setMember(text, 'usage', 'null')
      : dropMembers(text, ['usage']);
  }

  /** A chunk of our own, in the name of the upstream's: for streams that end without one that could carry the receipt. */
  #chunk(rest: JsonObject): string {
    const { created } = this.#account.first ?? {};
    const { answerId: id, object, model } = this.#options;
    return JSON.stringify({ id, object, created, model, ...rest });
  }

  #emptyChoice(index: number, reason: unknown): JsonObject {
    return this.#options.object === 'text_completion'
      ? { index, text: '', logprobs: null, finish_reason: reason }
      : { index, delta: {}, finish_reason: reason };
  }
}
