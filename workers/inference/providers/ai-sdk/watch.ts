import type { UpstreamFailure } from '../upstream-failure.ts';
import type { UpstreamCall, UpstreamSink } from '../provider.ts';

/**
 * One call under way: ends exactly once, whoever ends it first, and not later than `timeoutMs` after the last sign of
 * life. Its end closes the connection, so that the upstream stops computing.
 */
export class CallWatch implements UpstreamCall {
  readonly #sink: UpstreamSink;
  readonly #onOver: () => void;
  readonly #aborting = new AbortController();
  readonly #silence: NodeJS.Timeout;
  #over = false;

  constructor(sink: UpstreamSink, timeoutMs: number, onOver: () => void) {
    this.#sink = sink;
    this.#onOver = onOver;
    this.#silence = setTimeout(
      () => this.fail({ kind: 'timeout', detail: `silent for ${timeoutMs} ms` }),
      timeoutMs,
    );
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The upstream said something. */
  touch(): void {
    this.#silence.refresh();
  }

  abort(): void {
    this.fail({ kind: 'aborted', detail: 'the caller has gone' });
  }

  payload(text: string): void {
    if (!this.#over) this.#sink.onPayload(text);
  }

  answer(text: string): void {
    if (this.#finish()) this.#sink.onAnswer(text);
  }

  end(clean: boolean): void {
    if (this.#finish()) this.#sink.onEnd(clean);
  }

  fail(failure: UpstreamFailure): void {
    if (this.#finish()) this.#sink.onFailure(failure);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#silence);
    this.#onOver();
    this.#aborting.abort();
    return true;
  }
}
