import { Agent, type Dispatcher, request } from 'undici';
import {
  afterFailure,
  afterSuccess,
  askBreaker,
  type Breaker,
  CLOSED,
} from '#shared/catalogue/circuit-breaker.ts';
import type { Verdict } from '../screen.ts';

export interface ModerationOptions {
  /** Ends in the version prefix, as an OpenAI base URL does; `/moderations` is added. */
  baseUrl: string;
  model: string;
  apiKey?: string;
  /** How many requests are judged at once, each on a connection of its own. */
  atOnce: number;
  /** The whole call. Screening is on the way of every request, so this should be short. */
  timeoutMs: number;
  /** `open` lets requests pass that could not be judged, `closed` does not. */
  failMode: 'open' | 'closed';
  /** Epoch milliseconds. */
  now: () => number;
  /** For tests: instead of real sockets. */
  dispatcher?: Dispatcher;
}

/** The most that one call carries. No model that is offered reads more, so a longer request is refused. */
const TEXT_UNITS_MAX = 8_388_608;
/** A verdict for each of some thousand inputs; more is not an answer. */
const ANSWER_BYTES_MAX = 4 * 1_048_576;
const CATEGORY = /^[a-z0-9][a-z0-9/_ -]{0,63}$/i;

/** What is asked to see whether the endpoint works at all; no caller has a say in it. */
const PROBE_INPUT = ['ok'];
/** A probe tells of so long; requests that fail meanwhile do not ask again. */
const PROBE_TELLS_MS = 1_000;

/**
 * The outcome of the second stage of screening. `skipped`: the endpoint does not work, and requests then pass (`open`).
 * `unavailable`: it does not work, and they then do not (`closed`), or it works and could not judge this one request.
 * `too_long`: more than it can be asked about.
 */
export type Moderation =
  | { outcome: 'passed' | 'skipped' | 'unavailable' | 'too_long' }
  | { outcome: 'flagged'; verdict: Verdict };

/**
 * The optional second stage of screening, for what the rules let through: asks any endpoint with OpenAI's moderation
 * interface.
 *
 * A request that could not be judged says little: its own texts may be the reason, and a caller could choose them so. A
 * probe with a text of our own tells whether the endpoint works. While it does, what could not be judged does not pass, in
 * either mode, and no other caller notices. Five failed probes in a row stop the asking for a while; a probe ends that, too.
 */
export class Moderator {
  readonly #options: ModerationOptions;
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #dispatcher: Dispatcher;
  /** Of its own, so that a probe does not wait behind the requests of callers, and then tell of them. */
  readonly #probing: Dispatcher;
  #breaker: Breaker = CLOSED;
  /** The last probe, which is shared by the requests that fail at the same time. */
  #probe: { at: number; works: Promise<boolean> } | undefined;

  constructor(options: ModerationOptions) {
    this.#options = options;
    this.#url = `${options.baseUrl.replace(/\/+$/, '')}/moderations`;
    this.#headers = {
      'content-type': 'application/json',
      accept: 'application/json',
      ...(options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` }),
    };
    this.#dispatcher = options.dispatcher ?? new Agent({ connections: options.atOnce });
    this.#probing = options.dispatcher ?? new Agent({ connections: 1 });
  }

  /** Judges the texts of one request together. Never throws; `signal` gives up early, which counts as not asked. */
  async judge(texts: readonly string[], signal?: AbortSignal): Promise<Moderation> {
    const input = texts.filter((text) => text.trim() !== '');
    if (input.length === 0) return { outcome: 'passed' };
    if (input.reduce((sum, text) => sum + text.length, 0) > TEXT_UNITS_MAX)
      return { outcome: 'too_long' };
    const { allowed, next } = askBreaker(this.#breaker, this.#options.now());
    this.#breaker = next;
    if (!allowed) return this.#notJudged();
    if (next.state === 'half_open' && !(await this.#works())) return this.#notJudged();
    try {
      const category = flaggedCategory(
        await this.#ask(input, this.#dispatcher, signal),
        input.length,
      );
      this.#breaker = afterSuccess();
      this.#probe = undefined;
      return category === null
        ? { outcome: 'passed' }
        : { outcome: 'flagged', verdict: this.#verdict(category) };
    } catch {
      // A caller who gave up says nothing about the endpoint, and waits for nothing.
      if (signal?.aborted === true) return { outcome: 'unavailable' };
      return (await this.#works()) ? { outcome: 'unavailable' } : this.#notJudged();
    }
  }

  async close(): Promise<void> {
    if (this.#options.dispatcher !== undefined) return;
    await Promise.all([this.#dispatcher.destroy(), this.#probing.destroy()]);
  }

  /** Whether the endpoint judges a text of our own. */
  #works(): Promise<boolean> {
    const at = this.#options.now();
    if (this.#probe !== undefined && at - this.#probe.at < PROBE_TELLS_MS) return this.#probe.works;
    const works = this.#ask(PROBE_INPUT, this.#probing)
      .then((answer) => {
        flaggedCategory(answer, PROBE_INPUT.length);
        this.#breaker = afterSuccess();
        return true;
      })
      .catch(() => {
        this.#breaker = afterFailure(this.#breaker, this.#options.now());
        return false;
      });
    this.#probe = { at, works };
    return works;
  }

  #notJudged(): Moderation {
    return { outcome: this.#options.failMode === 'open' ? 'skipped' : 'unavailable' };
  }

  #verdict(category: string): Verdict {
    return {
      rule: `moderation:${category}@${this.#options.model}`,
      code: 'acceptable_use_violation',
    };
  }

  async #ask(
    input: readonly string[],
    dispatcher: Dispatcher,
    signal?: AbortSignal,
  ): Promise<unknown> {
    const deadline = AbortSignal.timeout(this.#options.timeoutMs);
    const answer = await request(this.#url, {
      method: 'POST',
      headers: this.#headers,
      body: JSON.stringify({ model: this.#options.model, input }),
      dispatcher,
      signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
    });
    const bytes = await readBounded(answer.body);
    if (answer.statusCode !== 200) throw new Error(`moderation answered ${answer.statusCode}`);
    return JSON.parse(bytes.toString('utf8'));
  }
}

async function readBounded(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    // Leaving the loop destroys the body, and its socket with it.
    if (size > ANSWER_BYTES_MAX) throw new Error('the moderation answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * The first category (by name) that an untrusted answer flags, `other` where it names none, null when nothing is
 * flagged. Throws when it is not an answer to `inputs` inputs: a truncated one must not pass for a clean one.
 */
function flaggedCategory(answer: unknown, inputs: number): string | null {
  const results = (answer as { results?: unknown } | null)?.results;
  if (!Array.isArray(results) || results.length !== inputs)
    throw new Error('not a moderation answer');
  let flagged = false;
  const names = new Set<string>();
  for (const result of results as { flagged?: unknown; categories?: unknown }[]) {
    if (typeof result?.flagged !== 'boolean') throw new Error('not a moderation answer');
    if (!result.flagged) continue;
    flagged = true;
    for (const [name, isFlagged] of Object.entries(result.categories ?? {})) {
      if (isFlagged === true && CATEGORY.test(name)) names.add(name);
    }
  }
  return flagged ? ([...names].toSorted()[0] ?? 'other') : null;
}
