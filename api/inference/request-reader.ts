import { Fault } from '#shared/kernel/errors.ts';
import { enterReader, type ReadingDeps } from './enter-reader.ts';
import type { KeptResponses } from './kept/kept-responses.ts';
import type { RawRequest, Unrouted } from './read.ts';
import type { Read, ReadingModel, ReadPromptOptions } from './read-prompt.ts';

export interface RequestReaderDeps extends ReadingDeps {
  kept: Pick<KeptResponses, 'before'>;
  /** Epoch milliseconds. */
  now: () => number;
}

/** The parts of one request as they are read, on the event loop or on a thread. To be followed by its `leave`. */
export class RequestReader {
  readonly #deps: RequestReaderDeps;
  readonly #came: Omit<RawRequest, 'now'>;
  readonly #hasLeft: () => boolean;
  #reader: Awaited<ReturnType<typeof enterReader>> | undefined;
  #isOnThread = false;
  #request: RawRequest | undefined;

  /** `hasLeft` says whether its client has. */
  constructor(deps: RequestReaderDeps, came: Omit<RawRequest, 'now'>, hasLeft: () => boolean) {
    this.#deps = deps;
    this.#came = came;
    this.#hasLeft = hasLeft;
  }

  /**
   * Parses and validates it; null when its client has left while it waited for a thread.
   * @throws Fault
   */
  async read(): Promise<Unrouted | null> {
    const { rawBody, credential } = this.#came;
    const entering = enterReader(this.#deps, {
      bytes: rawBody.length,
      orgId: credential.orgId,
    });
    this.#isOnThread = entering instanceof Promise;
    this.#reader = entering instanceof Promise ? await entering : entering;
    if (this.#isOnThread && this.#hasLeft()) return null;
    this.#request = { ...this.#came, now: this.#deps.now() };
    return this.#reader.read(this.#request);
  }

  /**
   * The request with the conversation that it goes on from and the items that it refers to, which are read from here on as if
   * they had come with it; null when its client has left meanwhile.
   * @throws Fault
   */
  async goOn(unrouted: Unrouted): Promise<Unrouted | null> {
    const { rawBody, credential } = this.#came;
    const { orgId } = credential;
    // A thread is not held while PostgreSQL is asked.
    if (this.#isOnThread) this.leave();
    const named = { orgId, previous: unrouted.entry.previous, items: unrouted.references ?? [] };
    const asked = await this.#deps.kept.before(named, async (before) => {
      if (before === null) throw new Fault('previous_response_not_found');
      if (this.#hasLeft()) return null;
      const texts = [...before.turns, ...before.referred];
      const bytes = texts.reduce((sum, { length }) => sum + length, rawBody.length);
      // With its conversation it may be one for a thread.
      const again = enterReader(this.#deps, { bytes, orgId });
      if (again instanceof Promise || this.#reader === undefined) {
        this.leave();
        this.#reader = await again;
        if (this.#hasLeft()) return null;
        await this.#reader.read(this.#request!);
      }
      return this.#reader.goOn(before);
    });
    if (asked === null) return null;
    return { ...unrouted, asked: { ...asked, regionHeader: unrouted.asked.regionHeader } };
  }

  /**
   * What a model would read of it, and the body for its upstream.
   * @throws Fault
   */
  readPrompt(model: ReadingModel, options: ReadPromptOptions): Read | Promise<Read> {
    return this.#reader!.readPrompt(model, options);
  }

  /** Makes room for the next on its thread. */
  leave(): void {
    this.#reader?.leave();
    this.#reader = undefined;
  }
}
