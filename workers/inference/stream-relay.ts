import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import { dropMembers } from '#shared/kernel/json-text.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { inJoules, joulesIn } from '#shared/catalogue/stated-energy.ts';
import { answerIdIn, modelNamedIn } from './answer-names.ts';
import { modelNamer } from './model-name.ts';
import { StreamAccount } from './stream-account.ts';
import { isObject, type JsonObject } from './json.ts';
import { usageObject } from './usage.ts';

/** What passes a stream on to its client, and knows what it was. */
export interface Relay {
  /** Tokens as the upstream counted them, if it did. */
  readonly usage: Usage | undefined;
  /** Energy that came in a header, or in a payload at the path of the catalogue. */
  readonly joules: number | undefined;
  /** Everything generated so far, choice by choice, for counting when the upstream did not. */
  readonly texts: readonly string[];
  /** The id that its client knows the answer by. */
  readonly answerId: string | undefined;
  /** The name that the upstream gives the model. */
  readonly modelNamed: string | undefined;
  /** Payloads sent on so far. */
  readonly sent: number;
  /** Tokens in them: as the upstream counts while it streams, or else a token for each payload that had text. */
  readonly sentTokens: number;
  /** The answer is whole, whether or not `[DONE]` comes. */
  readonly isFinished: boolean;
  /** Says whose stream this is, and so where its energy would be reported. What a stream before it said is forgotten. */
  readFrom(endpoint: Endpoint): void;
  /** Takes the figure that came in a header. */
  measured(stated: number | undefined): void;
  /** Takes one payload, already parsed as `chunk`. */
  accept(given: string, chunk: JsonObject): void;
  /** Ends a whole stream: sends what is held and returns the payload that is to carry the receipt. */
  finish(usage: Usage | UnknownUsage): string;
  /** Ends a broken stream: what was held is still the client's. */
  release(): void;
}

export interface StreamRelayOptions {
  includeUsage: boolean;
  /** The model's id in the catalogue, which callers are told. */
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

/**
 * Passes a stream on payload by payload, unchanged but for the name of the model, and `usage` when the client did not ask
 * for it, and holds back the chunk that will carry the receipt: the last one with a finish reason, or the usage chunk when
 * it was asked for.
 */
export class StreamRelay implements Relay {
  readonly #options: StreamRelayOptions;
  readonly #named: (payload: string, chunk: JsonObject) => string;
  readonly #account = new StreamAccount();
  #held: Payload | undefined;
  #usageChunk: string | undefined;
  #sent = 0;
  /** Those of them that had text. */
  #speaking = 0;
  #energy: Endpoint['energy'];
  #joules: number | undefined;

  constructor(options: StreamRelayOptions) {
    this.#options = options;
    this.#named = modelNamer(options.model);
  }

  get usage(): Usage | undefined {
    return this.#account.usage;
  }

  readFrom({ energy }: Endpoint): void {
    this.#energy = energy;
    this.#joules = undefined;
    this.#account.readFrom(energy);
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

  get answerId(): string | undefined {
    return answerIdIn(this.#account.first);
  }

  get modelNamed(): string | undefined {
    return modelNamedIn(this.#account.first);
  }

  get sent(): number {
    return this.#sent;
  }

  get sentTokens(): number {
    return this.usage?.outputTokens ?? this.#speaking;
  }

  get isFinished(): boolean {
    return this.#account.isFinished;
  }

  accept(given: string, chunk: JsonObject): void {
    const payload = this.#named(given, chunk);
    this.#joules = joulesIn(chunk, this.#energy) ?? this.#joules;
    const noted = this.#account.note(chunk);
    if (noted === undefined) {
      // Much client code reads choices[0] unguarded: a chunk without choices goes out only when it was asked for.
      if (isObject(chunk['usage'])) this.#usageChunk = payload;
      return;
    }
    const { finishes, speaks } = noted;
    const text = this.#options.includeUsage ? payload : dropMembers(payload, ['usage']);
    const out = { text, speaks };
    this.#release();
    if (finishes) this.#held = out;
    else this.#send(out);
  }

  finish(usage: Usage | UnknownUsage): string {
    if (!this.#options.includeUsage)
      return this.#held?.text ?? this.#chunk({ choices: [this.#emptyChoice()] });
    this.#release();
    // A chunk with usage that could not be read, or was found wrong, is not the client's.
    const chunk = usage.source === 'counted' ? undefined : this.#usageChunk;
    const known = usage.source === 'unknown' ? null : usageObject(usage);
    return chunk ?? this.#chunk({ choices: [], usage: known });
  }

  release(): void {
    this.#release();
  }

  #release(): void {
    if (this.#held === undefined) return;
    const held = this.#held;
    this.#held = undefined;
    this.#send(held);
  }

  #send({ text, speaks }: Payload): void {
    this.#sent += 1;
    if (speaks) this.#speaking += 1;
    this.#options.send(text);
  }

  /** A chunk of our own, in the name of the upstream's: for streams that end without one that could carry the receipt. */
  #chunk(rest: JsonObject): string {
    const { id, created } = this.#account.first ?? {};
    const { object, model } = this.#options;
    return JSON.stringify({ id, object, created, model, ...rest });
  }

  #emptyChoice(): JsonObject {
    return this.#options.object === 'text_completion'
      ? { index: 0, text: '', logprobs: null, finish_reason: null }
      : { index: 0, delta: {}, finish_reason: null };
  }
}
