import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { receiptedEvent } from '#shared/receipts/response-events.ts';
import { inJoules, joulesIn } from '#shared/catalogue/stated-energy.ts';
import type { UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import type { Relay } from '../stream-relay.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { NativeStream } from './native.ts';
import type { ResponseWriterOptions } from './response-writer.ts';
import { TranslatedStream } from './translated.ts';

/** A stream of events of a response, as one kind of upstream gives it. */
export interface ResponseStream {
  readonly usage: Usage | undefined;
  readonly texts: readonly string[];
  /** Characters that are in memory until the end. */
  readonly kept: number;
  readonly upstreamAnswerId: string | undefined;
  readonly modelNamed: string | undefined;
  readonly isFinished: boolean;
  /** Takes a payload of the upstream; returns whether it had text. */
  accept(given: string, parsed: JsonObject): boolean;
  /** Sends what is still to come before the last event, and returns that one. */
  finish(usage: Usage | UnknownUsage): string;
}

export interface ResponseRelayOptions extends Omit<ResponseWriterOptions, 'emit'> {
  /** Sends one payload on to the client, of which the receipt is over `receipted`, or (null) over nothing. */
  send: (payload: string, receipted: string | null) => void;
}

/** Passes the events of a response on: as they come where the upstream speaks them, else written from its chunks. */
export class ResponseRelay implements Relay {
  readonly #options: ResponseRelayOptions;
  #stream: ResponseStream | undefined;
  #sent = 0;
  /** Payloads of the upstream's that had text. */
  #speaking = 0;
  #energy: Endpoint['energy'];
  joules: number | undefined;

  constructor(options: ResponseRelayOptions) {
    this.#options = options;
  }

  readFrom({ energy, responses }: Endpoint): void {
    this.#energy = energy;
    this.joules = undefined;
    const emit = (payload: string): void => {
      const receipted = receiptedEvent(payload);
      if (receipted !== null) this.#sent += 1;
      this.#options.send(payload, receipted);
    };
    const options = { ...this.#options, emit };
    this.#stream =
      responses === true
        ? new NativeStream(options, energy)
        : new TranslatedStream(options, energy);
  }

  measured(stated: number | undefined): void {
    this.joules = inJoules(stated, this.#energy) ?? this.joules;
  }

  get usage(): Usage | undefined {
    return this.#stream?.usage;
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
    return this.usage?.outputTokens ?? this.#speaking;
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

  /** Nothing is held that would be the client's: the last event belongs to whole streams only. */
  release(): void {}
}
