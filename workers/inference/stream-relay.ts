import type { Usage } from '#shared/kernel/inference.ts';
import { dropMembers } from '#shared/kernel/json-text.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { isObject, type JsonObject, readUsage, textOfChoice } from './usage.ts';

export interface StreamRelayOptions {
  includeUsage: boolean;
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
 * Passes a stream on payload by payload, unchanged but for `usage` when the client did not ask for it, and holds back
 * the chunk that will carry the receipt: the last one with a finish reason, or the usage chunk when it was asked for.
 */
export class StreamRelay {
  readonly #options: StreamRelayOptions;
  #held: Payload | undefined;
  #usageChunk: string | undefined;
  #first: JsonObject | undefined;
  #usage: Usage | undefined;
  #text = '';
  #finished = new Set<number>();
  #seen = new Set<number>();
  #sent = 0;
  /** Those of them that had text. */
  #speaking = 0;
  #energy: Endpoint['energy'];
  #joules: number | undefined;

  constructor(options: StreamRelayOptions) {
    this.#options = options;
  }

  /** Tokens as the upstream counted them, if it did. */
  get usage(): Usage | undefined {
    if (this.#usage === undefined || this.#joules === undefined) return this.#usage;
    return { ...this.#usage, measuredJoules: this.#joules };
  }

  /** Says whose stream this is, and so where its energy would be reported. */
  readFrom(endpoint: Endpoint): void {
    this.#energy = endpoint.energy;
  }

  /** Energy that came in a header. */
  measured(joules: number | undefined): void {
    this.#joules = joules;
  }

  /** Everything generated so far, for counting when the upstream did not. */
  get text(): string {
    return this.#text;
  }

  /** Payloads sent on so far. */
  get sent(): number {
    return this.#sent;
  }

  /** Tokens in them: as the upstream counts while it streams, or else a token for each payload that had text. */
  get sentTokens(): number {
    return this.#usage?.outputTokens ?? this.#speaking;
  }

  /** Every choice that appeared has its finish reason: the answer is whole even if `[DONE]` never comes. */
  get isFinished(): boolean {
    return this.#seen.size > 0 && this.#finished.size === this.#seen.size;
  }

  /** Takes one payload, already parsed as `chunk`. */
  accept(payload: string, chunk: JsonObject): void {
    this.#usage = readUsage(chunk['usage'], this.#energy) ?? this.#usage;
    const choices = chunk['choices'];
    if (!Array.isArray(choices) || choices.length === 0) {
      // Much client code reads choices[0] unguarded: a chunk without choices goes out only when it was asked for.
      if (isObject(chunk['usage'])) this.#usageChunk = payload;
      return;
    }
    this.#first ??= chunk;
    const spokenChars = this.#text.length;
    const finishes = this.#note(choices);
    const out = {
      text: this.#options.includeUsage ? payload : dropMembers(payload, ['usage']),
      speaks: this.#text.length > spokenChars,
    };
    this.#release();
    if (finishes) this.#held = out;
    else this.#send(out);
  }

  /** Ends a whole stream: sends what is held and returns the payload that is to carry the receipt. */
  finish(usage: Usage): string {
    if (!this.#options.includeUsage)
      return this.#held?.text ?? this.#chunk({ choices: [this.#emptyChoice()] });
    this.#release();
    return this.#usageChunk ?? this.#chunk({ choices: [], usage: usageObject(usage) });
  }

  /** Ends a broken stream: what was held is still the client's. */
  release(): void {
    this.#release();
  }

  #note(choices: unknown[]): boolean {
    let finishes = false;
    for (const choice of choices) {
      this.#text += textOfChoice(choice);
      if (!isObject(choice)) continue;
      const index = typeof choice['index'] === 'number' ? choice['index'] : 0;
      this.#seen.add(index);
      if (typeof choice['finish_reason'] !== 'string') continue;
      this.#finished.add(index);
      finishes = true;
    }
    return finishes;
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
    const { id, created, model } = this.#first ?? {};
    return JSON.stringify({ id, object: this.#options.object, created, model, ...rest });
  }

  #emptyChoice(): JsonObject {
    return this.#options.object === 'text_completion'
      ? { index: 0, text: '', logprobs: null, finish_reason: null }
      : { index: 0, delta: {}, finish_reason: null };
  }
}

function usageObject(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.inputTokens + usage.outputTokens,
  };
}

/** Frames a payload as a server-sent event. A payload over several lines becomes as many data fields. */
export function frameOf(payload: string): string {
  const data = payload.includes('\n') ? payload.replaceAll(/\r?\n/g, '\ndata: ') : payload;
  return `data: ${data}\n\n`;
}
