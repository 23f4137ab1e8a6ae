import { BLOCK_MS, type RedisClient } from './connect.ts';
import { inboxKey } from '../keys.ts';
import type { Cancellation, Greeting, Reply, Taken } from '../messages.ts';
import type { Seals } from '../seals.ts';
import { BATCH_FIELD, decodeBatch, decodeMessage } from '../wire-format.ts';

/** Entries taken at one read; each may hold many messages. */
const READ_COUNT = 512;
const PAUSE_AFTER_ERROR_MS = 100;

type StreamReply = [key: string, entries: [id: string, fields: string[] | null][]][] | null;

/**
 * Reads one process's inbox, from its beginning, in order. A lost connection loses nothing:
 * reading goes on after the last id that was seen. What is written to it follows from what its process is.
 */
export class Inbox<Head extends Reply | Cancellation | Taken> {
  readonly #client: RedisClient;
  readonly #key: string;
  readonly #seals: Pick<Seals, 'open'>;
  readonly #onMessage: (head: Head, payload: string) => void;
  readonly #onError: (error: unknown) => void;
  #lastId = '0-0';
  #lastReadAt = -Infinity;
  #stopped = false;
  #loop: Promise<void> = Promise.resolve();

  /** `client` must be a connection of its own: the read parks on it. */
  constructor(
    client: RedisClient,
    processId: string,
    seals: Pick<Seals, 'open'>,
    onMessage: (head: Head, payload: string) => void,
    onError: (error: unknown) => void,
  ) {
    this.#client = client;
    this.#key = inboxKey(processId);
    this.#seals = seals;
    this.#onMessage = onMessage;
    this.#onError = onError;
  }

  /** The id up to which everything has been handed over. */
  get lastRead(): string {
    return this.#lastId;
  }

  /** When a read last came back, with messages or without any; in milliseconds of the steady clock. */
  get lastReadAt(): number {
    return this.#lastReadAt;
  }

  start(): void {
    this.#loop = this.#run();
  }

  /** Stops reading. Closes the connection, because a parked read would hold it for seconds. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#client.disconnect();
    await this.#loop;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const reply = (await this.#client.xread(
          'COUNT',
          READ_COUNT,
          'BLOCK',
          BLOCK_MS,
          'STREAMS',
          this.#key,
          this.#lastId,
        )) as StreamReply;
        if (reply !== null) this.#deliver(reply[0]![1]);
        this.#lastReadAt = performance.now();
      } catch (error) {
        if (this.#stopped) return;
        this.#onError(error);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_ERROR_MS));
      }
    }
  }

  #deliver(entries: [string, string[] | null][]): void {
    for (const [id, fields] of entries) {
      this.#lastId = id;
      for (let i = 1; i < (fields?.length ?? 0); i += 2) {
        try {
          this.#take(fields![i - 1]!, fields![i]!);
        } catch (error) {
          // One bad message must not stop the others.
          this.#onError(error);
        }
      }
    }
  }

  #take(field: string, text: string): void {
    if (field === BATCH_FIELD) {
      for (const { reply, payload } of decodeBatch(this.#seals, this.#key, text, this.#onError)) {
        this.#onMessage(reply as Head, payload);
      }
      return;
    }
    const { head, payload } = decodeMessage<Head | Greeting>(text);
    if (head.kind !== 'hello') this.#onMessage(head, payload);
  }
}
