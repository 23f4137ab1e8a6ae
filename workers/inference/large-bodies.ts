import { Worker } from 'node:worker_threads';
import type { Asked } from './bodies.ts';
import { BODY_WORK, type BodyWork, COUNTED_CHARS, LARGE_CHARS } from './body-work.ts';
import type { countUsed, CountUsage } from './usage.ts';

type WithoutFirst<F> = F extends (first: never, ...rest: infer R) => infer T
  ? (...rest: R) => T
  : never;

/** What the thread does. */
export interface ThreadWork extends BodyWork {
  /** Counts with a vocabulary of the thread's own. */
  countUsed: WithoutFirst<typeof countUsed>;
}

export interface Question {
  id: number;
  name: keyof ThreadWork;
  given: [{ body: string }, ...unknown[]];
}
export type Answer = { id: number } & ({ value: unknown } | { error: string });

type Result<N extends keyof ThreadWork> = Awaited<ReturnType<ThreadWork[N]>>;

class ThreadLost extends Error {}

/** What is asked and not answered. */
interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/**
 * Does what takes the longer the longer a body is: here for most, and for a large one on a thread, so that nothing that grows
 * with a body holds up the other requests of the worker. What is done there takes turns where it takes long, so that those
 * that wait do so for a fraction of a second. The thread is started by the first large body: it takes 45 MB.
 */
export class LargeBodies {
  #thread: Worker | undefined;
  readonly #waiting = new Map<number, Waiting>();
  #asked = 0;
  #isClosed = false;

  prepared(...given: Parameters<BodyWork['prepared']>): Promise<Result<'prepared'>> {
    return this.#do('prepared', given);
  }

  asked(...given: Parameters<BodyWork['asked']>): Promise<Asked> {
    return this.#do('asked', given);
  }

  promptAtLeast(...given: Parameters<BodyWork['promptAtLeast']>): Promise<number> {
    return this.#do('promptAtLeast', given);
  }

  dependsOnEndpoint(...given: Parameters<BodyWork['dependsOnEndpoint']>): Promise<boolean> {
    return this.#do('dependsOnEndpoint', given);
  }

  /** Counts on the thread what was asked in a large body, and here what was not. */
  counting(
    familyOf: (model: string) => string | undefined,
    countHere: WithoutFirst<typeof countUsed>,
  ): CountUsage {
    return (model, asked, generated, reported) => {
      const given = [asked, familyOf(model), generated, reported] as const;
      return asked.body.length > COUNTED_CHARS
        ? this.#ask('countUsed', [...given])
        : countHere(...given);
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.terminate();
  }

  async #do<N extends keyof BodyWork>(name: N, given: Parameters<BodyWork[N]>): Promise<Result<N>> {
    if (given[0].body.length > LARGE_CHARS) return this.#ask(name, given);
    const perform = BODY_WORK[name] as (...args: unknown[]) => unknown;
    return perform(...given) as Result<N>;
  }

  /** Asks the thread, and a new one where that is lost: an answer may have come that is only to be counted. */
  async #ask<N extends keyof ThreadWork>(
    name: N,
    given: Parameters<ThreadWork[N]>,
  ): Promise<Result<N>> {
    try {
      return await this.#askOnce(name, given);
    } catch (error) {
      if (!(error instanceof ThreadLost) || this.#isClosed) throw error;
      return this.#askOnce(name, given);
    }
  }

  #askOnce<N extends keyof ThreadWork>(
    name: N,
    given: Parameters<ThreadWork[N]>,
  ): Promise<Result<N>> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
      thread.postMessage({ id, name, given } satisfies Question);
    });
  }

  #start(): Worker {
    const thread = new Worker(new URL('large-body-thread.ts', import.meta.url));
    // A process that has nothing else to do may end.
    thread.unref();
    thread.on('message', (answer: Answer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if ('error' in answer) waiting?.reject(new Error(answer.error));
      else waiting?.resolve(answer.value);
    });
    const lose = (why: unknown): void => {
      // One that fails ends after that, when what waited may wait for the next one.
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      const lost = new ThreadLost('the thread for large bodies has ended', { cause: why });
      for (const { reject } of this.#waiting.values()) reject(lost);
      this.#waiting.clear();
    };
    thread.on('error', lose);
    thread.on('exit', lose);
    return thread;
  }
}
