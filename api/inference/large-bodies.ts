import { Worker } from 'node:worker_threads';
import { Fault } from '#shared/kernel/errors.ts';
import { faultOfWire } from '#shared/lanes/messages.ts';
import type { BodyReader } from './body-reader.ts';
import type { ItemsPage } from './kept/conversation.ts';
import type { Before } from './kept/kept-responses.ts';
import { HEADERS_READ, type RawRequest, type Unrouted } from './read.ts';
import type { Read, ReadingModel, ReadPromptOptions } from './read-prompt.ts';
import { type Answer, ownBytes, type Question, type ThreadTerms } from './thread-messages.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';

/** Two organisations with large bodies do not wait for each other; each thread holds a body several times meanwhile. */
const LARGE_AT_ONCE = 2;
/** Others have threads of their own beside them: what is large may take ten seconds, and these wait for none of it. */
const SHORT_AT_ONCE = 2;
/** Most of this length take a fraction of a second; two seconds take those that are one long word. */
const SHORT_BYTES = 128 * 1024;
/** The same of what is counted to the token. */
const SHORT_COUNTED_BYTES = 16 * 1024;
/** The costliest body takes seconds on a busy machine. A thread that takes so long is not coming back. */
const READING_MS_MAX = 60_000;
const RETRY_MS = 1_000;
const WARM_AFTER_MS = 30_000;

export interface LargeBodiesOptions extends ThreadTerms {
  /** Told why a thread was lost, before its request is refused. */
  onLost: (error: unknown) => void;
}

interface Lane {
  queue: FairQueue;
  idle: Thread[];
}

/** How long a body is, and whether its tokens are wanted. */
export interface LengthOfBody {
  bytes: number;
  isCounted?: boolean;
}

/**
 * Reads large bodies on threads, so that nothing that grows with a body (parsing, digests, screening) holds up the other
 * requests of the process: one large and one short body of an organisation at a time, each in the order in which they came.
 * Those that wait hold their bytes and nothing more, and the gate before the process bounds how many those are.
 */
export class LargeBodies {
  readonly #options: LargeBodiesOptions;
  /** What has read a large body holds more from then on: each kind has threads of its own. */
  readonly #large: Lane = { queue: new FairQueue(LARGE_AT_ONCE), idle: [] };
  readonly #short: Lane = { queue: new FairQueue(SHORT_AT_ONCE), idle: [] };
  readonly #all = new Set<Thread>();
  #warming: NodeJS.Timeout | undefined;

  constructor(options: LargeBodiesOptions) {
    this.#options = options;
  }

  /**
   * Has a thread started before it is needed, some time after the first request: it takes a second of a core, and 45 MB
   * that a process without callers is spared.
   */
  warmSoon(): void {
    this.#warming ??= setTimeout(() => {
      if (this.#all.size === 0) this.#short.idle.push(this.#start());
    }, WARM_AFTER_MS).unref();
  }

  /** Resolves with a reader when it is this organisation's turn; to be followed by its `leave`. */
  async enter(
    orgId: string,
    { bytes, isCounted = false }: LengthOfBody,
  ): Promise<BodyReader & { leave(): void }> {
    const isShort = bytes <= (isCounted ? SHORT_COUNTED_BYTES : SHORT_BYTES);
    const { queue, idle } = isShort ? this.#short : this.#large;
    await queue.enter(orgId);
    const thread = idle.pop() ?? this.#start();
    return new ReaderOnThread(thread, () => {
      if (this.#all.has(thread)) idle.push(thread);
      queue.leave(orgId);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#warming);
    await Promise.all([...this.#all].map((thread) => thread.end()));
  }

  #start(): Thread {
    const thread = new Thread(this.#options, (error) => {
      this.#all.delete(thread);
      for (const { idle } of [this.#large, this.#short]) {
        const at = idle.indexOf(thread);
        if (at !== -1) idle.splice(at, 1);
      }
      if (error !== undefined) this.#options.onLost(error);
    });
    this.#all.add(thread);
    return thread;
  }
}

/** A thread, which is asked one thing at a time. */
class Thread {
  readonly #worker: Worker;
  #asked: { resolve: (value: unknown) => void; reject: (error: unknown) => void } | undefined;
  #lost: Fault | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** `gone`: the thread has ended, with an error unless it was told to. */
  constructor(
    { processId, shards, isModerated }: LargeBodiesOptions,
    gone: (error?: unknown) => void,
  ) {
    // No limit on its heap: a parse that meets one cannot always be ended, and then V8 ends the whole process. What the
    // bounds on bodies let through takes 130 MB at most.
    this.#worker = new Worker(new URL('large-body-thread.ts', import.meta.url), {
      workerData: { processId, shards, isModerated } satisfies ThreadTerms,
    });
    // A process that has nothing else to do may end.
    this.#worker.unref();
    this.#worker.on('message', (answer: Answer) => this.#hear(answer));
    this.#worker.on('error', (error) => {
      gone(error);
      this.#lose(faultOfLoss(error));
    });
    this.#worker.on('exit', () => {
      gone();
      this.#lose(faultOfLoss(new Error('the thread has ended')));
    });
  }

  ask(question: Question, transfer: ArrayBuffer[] = []): Promise<unknown> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost);
    return new Promise((resolve, reject) => {
      this.#asked = { resolve, reject };
      this.#timer = setTimeout(() => void this.end(), READING_MS_MAX);
      this.#worker.postMessage(question, transfer);
    });
  }

  /** Lets go of what was read, if it still has it. */
  forget(): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    if (this.#lost === undefined) this.#worker.postMessage({ ask: 'forget' } satisfies Question);
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #hear(answer: Answer): void {
    const asked = this.#takeAsked();
    if ('value' in answer) asked?.resolve(answer.value);
    else if ('fault' in answer) asked?.reject(faultOfWire(answer.fault));
    else asked?.reject(new Error(answer.error));
  }

  #lose(fault: Fault): void {
    this.#lost ??= fault;
    this.#takeAsked()?.reject(this.#lost);
  }

  #takeAsked() {
    clearTimeout(this.#timer);
    const asked = this.#asked;
    this.#asked = undefined;
    return asked;
  }
}

/** Reads one request on a thread. */
class ReaderOnThread implements BodyReader {
  readonly #thread: Thread;
  readonly #left: () => void;

  constructor(thread: Thread, left: () => void) {
    this.#thread = thread;
    this.#left = left;
  }

  async read(request: RawRequest): Promise<Unrouted> {
    const rawBody = ownBytes(request.rawBody);
    const { orgId, keyId, keepResponses, tags } = request.credential;
    const headers: RawRequest['headers'] = {};
    for (const name of HEADERS_READ) headers[name] = request.headers[name];
    const credential = { orgId, keyId, keepResponses, tags };
    const asked = { ...request, rawBody, headers, credential };
    return (await this.#thread.ask({ ask: 'read', request: asked }, [rawBody.buffer])) as Unrouted;
  }

  async goOn(before: Before): Promise<Unrouted['asked']> {
    return (await this.#thread.ask({ ask: 'goOn', before })) as Unrouted['asked'];
  }

  async readPrompt(model: ReadingModel, options?: ReadPromptOptions): Promise<Read> {
    const asMessage = options?.asMessage === true;
    return (await this.#thread.ask({ ask: 'readPrompt', model: named(model), asMessage })) as Read;
  }

  async countPrompt(model: ReadingModel): Promise<number> {
    return (await this.#thread.ask({ ask: 'countPrompt', model: named(model) })) as number;
  }

  async inputItems(turns: readonly string[], page: ItemsPage): Promise<string> {
    return (await this.#thread.ask({ ask: 'inputItems', turns, page })) as string;
  }

  leave(): void {
    this.#thread.forget();
    this.#left();
  }
}

/** What a thread must know of a model, and nothing else of it. */
function named({ id, contextWindow, tokenizer }: ReadingModel): ReadingModel {
  return { id, contextWindow, ...(tokenizer === undefined ? {} : { tokenizer }) };
}

function faultOfLoss(error: unknown): Fault {
  return new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS, cause: error });
}
