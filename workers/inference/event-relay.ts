import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { inJoules, joulesIn } from '#shared/catalogue/stated-energy.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { type Relay, tokensSent } from './stream-relay.ts';

/** A stream of named events, as one kind of upstream gives it. */
export interface EventStream {
  readonly usage: Usage | undefined;
  readonly isUsageOfAll: boolean;
  readonly texts: readonly string[];
  /** Characters that are in memory until the end. */
  readonly kept: number;
  readonly upstreamAnswerId: string | undefined;
  readonly modelNamed: string | undefined;
  readonly isFinished: boolean;
  /** The items of a response as far as they came; undefined of other answers. */
  output?(): JsonObject[];
  /** Takes a payload of the upstream; returns whether it had text. */
  accept(given: string, parsed: JsonObject): boolean;
  /** Sends what is still to come before the last event, and returns that one. */
  finish(usage: Usage | UnknownUsage): string;
}

/** Passes named events on, as the stream of each endpoint gives them. */
export class EventRelay implements Relay {
  readonly #open: (endpoint: Endpoint, emit: (payload: string) => void) => EventStream;
  readonly #emit: (payload: string) => void;
  #stream: EventStream | undefined;
  #sent = 0;
  /** Payloads of the upstream's that had text. */
  #speaking = 0;
  #energy: Endpoint['energy'];
  joules: number | undefined;

  /**
   * @param open what an endpoint's payloads become
   * @param receiptedOf what the receipt is over of a payload; null for one that is nothing of the answer
   * @param send sends one payload on to the client
   */
  constructor(
    open: (endpoint: Endpoint, emit: (payload: string) => void) => EventStream,
    receiptedOf: (payload: string) => string | null,
    send: (payload: string, receipted: string | null) => void,
  ) {
    this.#open = open;
    this.#emit = (payload) => {
      const receipted = receiptedOf(payload);
      if (receipted !== null) this.#sent += 1;
      send(payload, receipted);
    };
  }

  readFrom(endpoint: Endpoint): void {
    this.#energy = endpoint.energy;
    this.joules = undefined;
    this.#stream = this.#open(endpoint, this.#emit);
  }

  measured(stated: number | undefined): void {
    this.joules = inJoules(stated, this.#energy) ?? this.joules;
  }

  get usage(): Usage | undefined {
    return this.#stream?.usage;
  }

  get isUsageOfAll(): boolean {
    return this.#stream?.isUsageOfAll ?? false;
  }

  get texts(): readonly string[] {
    return this.#stream?.texts ?? [];
  }

  get kept(): number {
    return this.#stream?.kept ?? 0;
  }

  get upstreamAnswerId(): string | undefined {
    return this.#stream?.upstreamAnswerId;
  }

  get modelNamed(): string | undefined {
    return this.#stream?.modelNamed;
  }

  get sent(): number {
    return this.#sent;
  }

  get sentTokens(): number {
    return tokensSent(this, this.#speaking);
  }

  get isFinished(): boolean {
    return this.#stream?.isFinished ?? false;
  }

  accept(given: string, parsed: JsonObject): void {
    this.joules = joulesIn(parsed, this.#energy) ?? this.joules;
    const stream = this.#stream!;
    if (stream.accept(given, parsed)) this.#speaking += 1;
  }

  finish(usage: Usage | UnknownUsage): string {
    return this.#stream!.finish(usage);
  }

  get output(): readonly JsonObject[] | undefined {
    return this.#stream?.output?.();
  }

  /** Nothing is held that would be the client's: the last event belongs to whole streams only. */
  release(): void {}
}
