import { setTimeout as delay } from 'node:timers/promises';
import type { DevFile } from '#embedded/launcher/dev-file.ts';

/** Enough that alerts have something to count, and little beside what else the machine does. */
const CALLERS = 4;
const PAUSE_MS = 300;
const REQUEST_MS = 30_000;

/** Callers who ask all the time, whole answers and streams, and do not mind what they are told. */
export class Callers {
  readonly #info: DevFile;
  readonly #leaving = new AbortController();
  readonly #all: Promise<void>[];

  constructor(info: DevFile) {
    this.#info = info;
    this.#all = Array.from({ length: CALLERS }, (_, index) => this.#ask(index % 2 === 0));
  }

  async leave(): Promise<void> {
    this.#leaving.abort();
    await Promise.all(this.#all);
  }

  async #ask(stream: boolean): Promise<void> {
    const { signal } = this.#leaving;
    while (!signal.aborted) {
      await this.#one(stream).catch(() => {
        // An api process that is away is what is being tried, or the callers leave.
      });
      await delay(PAUSE_MS);
    }
  }

  async #one(stream: boolean): Promise<void> {
    const { base_url: baseUrl, api_key: key } = this.#info;
    const answer = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'llama-3.1-8b',
        region: 'eu-west',
        max_tokens: 20,
        stream,
        messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
      }),
      signal: AbortSignal.any([this.#leaving.signal, AbortSignal.timeout(REQUEST_MS)]),
    });
    await answer.arrayBuffer();
  }
}
