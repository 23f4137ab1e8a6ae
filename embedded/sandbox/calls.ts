import { EventEmitter, once } from 'node:events';

/** running → finished: answered to the end · aborted: the caller left first · faulted: spoilt on purpose, or refused. */
export type CallState = 'running' | 'finished' | 'aborted' | 'faulted';

/** One call as the sandbox remembers it: never a prompt, an answer or a credential. */
export interface Call {
  seq: number;
  /** The fault's `id`. */
  id: string | null;
  path: string;
  model: string | null;
  stream: boolean;
  state: CallState;
  status: number | null;
  /** `data:` frames written so far. */
  frames: number;
  /** Request headers that identify the call on its way. */
  headers: Record<string, string>;
  started_at: number;
  ended_at: number | null;
}

interface Tally {
  started: number;
  finished: number;
  aborted: number;
  faulted: number;
  in_flight: number;
}

/** Enough for any test to find its calls; under load the oldest give way. */
const CALLS_KEPT = 1000;
const IDS_KEPT = 10_000;
const MODELS_KEPT = 1000;
const SHOWN_HEADERS = ['x-request-id', 'idempotency-key', 'traceparent', 'x-client-request-id'];

function emptyTally(): Tally {
  return { started: 0, finished: 0, aborted: 0, faulted: 0, in_flight: 0 };
}

/** The book of calls, behind `GET /sandbox/stats`. */
export class CallBook {
  #seq = 0;
  #total = emptyTally();
  readonly #models = new Map<string, Tally>();
  #calls: Call[] = [];
  readonly #attempts = new Map<string, number>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  /** Writes down a call that has begun. */
  start(
    seen: Pick<Call, 'id' | 'path' | 'model' | 'stream'>,
    headers: NodeJS.Dict<string | string[]>,
  ): Call {
    const call: Call = {
      seq: (this.#seq += 1),
      ...seen,
      state: 'running',
      status: null,
      frames: 0,
      headers: Object.fromEntries(
        SHOWN_HEADERS.filter((name) => headers[name] !== undefined).map((name) => [
          name,
          String(headers[name]),
        ]),
      ),
      started_at: Date.now(),
      ended_at: null,
    };
    for (const tally of this.#tallies(call)) {
      tally.started += 1;
      tally.in_flight += 1;
    }
    this.#calls.push(call);
    // In blocks, so that a call under load does not pay for moving the whole list.
    if (this.#calls.length > 2 * CALLS_KEPT) this.#calls = this.#calls.slice(-CALLS_KEPT);
    this.#changes.emit('change');
    return call;
  }

  /** Writes down how a call ended; the first end counts. */
  end(call: Call, state: Exclude<CallState, 'running'>): void {
    if (call.state !== 'running') return;
    call.state = state;
    call.ended_at = Date.now();
    for (const tally of this.#tallies(call)) {
      tally[state] += 1;
      tally.in_flight -= 1;
    }
    this.#changes.emit('change');
  }

  /** The number of this call among those of its id, from 1. */
  attempt(id: string): number {
    const attempt = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.delete(id);
    this.#attempts.set(id, attempt);
    if (this.#attempts.size > IDS_KEPT) {
      for (const oldest of this.#attempts.keys()) {
        this.#attempts.delete(oldest);
        break;
      }
    }
    return attempt;
  }

  /** Totals, totals per model, and the last `limit` calls (of one id, if given), newest first. */
  stats(
    filter: { id?: string; limit?: number } = {},
  ): Tally & { models: Record<string, Tally>; calls: Call[] } {
    const calls =
      filter.id === undefined ? this.#calls : this.#calls.filter((call) => call.id === filter.id);
    return {
      ...this.#total,
      models: Object.fromEntries(this.#models),
      calls: calls.slice(-Math.min(filter.limit ?? 100, CALLS_KEPT)).toReversed(),
    };
  }

  /** Resolves once a call of this id is in this state, or when the time is up (then `false`). */
  async reached(id: string, state: CallState, timeoutMs: number): Promise<boolean> {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      if (this.#calls.some((call) => call.id === id && call.state === state)) return true;
      try {
        await once(this.#changes, 'change', { signal: deadline });
      } catch {
        return false;
      }
    }
  }

  /** Forgets everything but the calls still running, which it counts anew. */
  reset(): void {
    const running = this.#calls.filter((call) => call.state === 'running');
    this.#calls = running;
    this.#total = emptyTally();
    this.#models.clear();
    this.#attempts.clear();
    for (const call of running) {
      for (const tally of this.#tallies(call)) {
        tally.started += 1;
        tally.in_flight += 1;
      }
    }
  }

  #tallies(call: Call): Tally[] {
    const name = call.model ?? 'unknown';
    let tally = this.#models.get(name);
    if (tally === undefined) {
      if (this.#models.size >= MODELS_KEPT) return [this.#total];
      this.#models.set(name, (tally = emptyTally()));
    }
    return [this.#total, tally];
  }
}
