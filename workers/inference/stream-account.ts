import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Usage } from '#shared/kernel/inference.ts';
import { isFinished } from './finish.ts';
import { isObject, type JsonObject } from './json.ts';
import { readUsage, textOfChoice } from './usage.ts';

/** What a stream of chunks has said so far: text, usage, and which of its choices have come to their end. */
export class StreamAccount {
  #first: JsonObject | undefined;
  #usage: Usage | undefined;
  /** What was generated, by the index of its choice; the first apart, since most answers have no other. */
  #text = '';
  readonly #others = new Map<number, string>();
  readonly #finished = new Set<number>();
  readonly #seen = new Set<number>();
  #energy: Endpoint['energy'];

  /** The first chunk with a choice. */
  get first(): JsonObject | undefined {
    return this.#first;
  }

  /** Tokens as the upstream counted them, if it did. */
  get usage(): Usage | undefined {
    return this.#usage;
  }

  /** Everything generated so far, choice by choice. */
  get texts(): readonly string[] {
    return [this.#text, ...this.#others.values()];
  }

  /** Every choice that appeared has its finish reason. */
  get isFinished(): boolean {
    return this.#seen.size > 0 && this.#finished.size === this.#seen.size;
  }

  /** A stream begins, of a server that reports energy like this. */
  readFrom(energy: Endpoint['energy']): void {
    this.#energy = energy;
    this.#usage = undefined;
  }

  /** Takes a chunk. Returns whether one of its choices speaks, or ends; undefined when it has none. */
  note(chunk: JsonObject): { finishes: boolean; speaks: boolean } | undefined {
    const choices = chunk['choices'];
    this.#usage = this.#usageIn(chunk, choices) ?? this.#usage;
    if (!Array.isArray(choices) || choices.length === 0) return undefined;
    this.#first ??= chunk;
    let finishes = false;
    let speaks = false;
    for (const choice of choices as unknown[]) {
      const text = textOfChoice(choice);
      if (text !== '') speaks = true;
      const index = isObject(choice) && typeof choice['index'] === 'number' ? choice['index'] : 0;
      if (index === 0) this.#text += text;
      else if (text !== '') this.#others.set(index, (this.#others.get(index) ?? '') + text);
      this.#seen.add(index);
      if (!isFinished(choice)) continue;
      this.#finished.add(index);
      finishes = true;
    }
    return { finishes, speaks };
  }

  /** Some servers write zeros into each chunk until they know better: beside a choice they are no count. */
  #usageIn(chunk: JsonObject, choices: unknown): Usage | undefined {
    const usage = readUsage(chunk['usage'], this.#energy);
    if (usage === undefined || usage.inputTokens + usage.outputTokens > 0) return usage;
    return Array.isArray(choices) && choices.length > 0 ? undefined : usage;
  }
}
