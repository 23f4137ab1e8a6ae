import type { Timeouts } from '#shared/catalogue/catalogue.ts';
import type { UpstreamFailure } from '../upstream-failure.ts';
import type { UpstreamCall, UpstreamSink } from '../provider.ts';

/**
 * One call under way: ends exactly once, by the first cause, and not later than its timeouts allow. The libraries show
 * no headers, so the time for these is that for the first sign of life. Its end closes the connection, so that the
 * upstream stops computing.
 */
export class CallWatch implements UpstreamCall {
  readonly #sink: UpstreamSink;
  readonly #onOver: () => void;
  readonly #aborting = new AbortController();
  readonly #timeouts: Timeouts;
  #silence: NodeJS.Timeout;
  #whole: NodeJS.Timeout;
  #begunAt = performance.now();
  #speaks = false;
  #over = false;

  constructor(sink: UpstreamSink, timeouts: Timeouts, onOver: () => void) {
    this.#sink = sink;
    this.#onOver = onOver;
    this.#timeouts = timeouts;
    this.#silence = this.#bound('silent for', Math.min(timeouts.headersMs, timeouts.firstByteMs));
    this.#whole = this.#bound('not finished in', timeouts.totalMs);
  }

  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  get isOver(): boolean {
    return this.#over;
  }

  /** The upstream said something. */
  touch(): void {
    if (this.#speaks) return void this.#silence.refresh();
    this.#speaks = true;
    clearTimeout(this.#silence);
    if (!this.#over) this.#silence = this.#bound('silent for', this.#timeouts.betweenBytesMs);
  }

  /** Waits, which the upstream is not to blame for, until it is called back or the call is over. */
  async pausedUntil(wait: (resume: () => void) => void): Promise<void> {
    if (this.#over) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const pausedAt = performance.now();
    clearTimeout(this.#silence);
    clearTimeout(this.#whole);
    const resume = (): void => resolve();
    this.signal.addEventListener('abort', resume);
    wait(resume);
    await promise;
    this.signal.removeEventListener('abort', resume);
    if (this.signal.aborted) return;
    this.#begunAt += performance.now() - pausedAt;
    const { betweenBytesMs, totalMs } = this.#timeouts;
    this.#silence = this.#bound('silent for', betweenBytesMs);
    const leftMs = totalMs - (performance.now() - this.#begunAt);
    this.#whole = this.#bound('not finished in', totalMs, leftMs);
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

  #bound(words: string, ms: number, leftMs = ms): NodeJS.Timeout {
    return setTimeout(() => this.fail({ kind: 'timeout', detail: `${words} ${ms} ms` }), leftMs);
  }

  #finish(): boolean {
    if (this.#over) return false;
    this.#over = true;
    clearTimeout(this.#silence);
    clearTimeout(this.#whole);
    this.#onOver();
    this.#aborting.abort();
    return true;
  }
}
