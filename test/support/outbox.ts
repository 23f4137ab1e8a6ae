import type { Reply } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Outbox } from '#shared/lanes/redis/outbox.ts';

type Command = Parameters<Outbox['command']> extends [number, ...infer C] ? C : never;

/** One thing that was queued: a reply, a command of a shard's transaction, or an acknowledgement. */
export interface Queued {
  reply?: Reply & { inbox: string; payload: string };
  command?: Command;
  done?: string;
}

/**
 * An outbox that writes nowhere and shows what would be written. As in the real one, what is queued in one turn of the
 * event loop is one write, which is what the client's reply and the acknowledgement of its entry must not be torn by.
 */
export class RecordedOutbox implements Pick<Outbox, 'send' | 'command' | 'done' | 'flushed'> {
  /** What each turn queued, in order. */
  readonly writes: Queued[][] = [];
  #turn: Queued[] | undefined;
  #written: Promise<void> = Promise.resolve();

  /** Everything that was queued, in order. */
  get queued(): Queued[] {
    return this.writes.flat();
  }

  get replies(): (Reply & { inbox: string; payload: string })[] {
    return this.queued.flatMap(({ reply }) => reply ?? []);
  }

  send(inbox: string, reply: Reply, payload: string = ''): void {
    this.#queue({ reply: { ...reply, inbox, payload } });
  }

  command(_shard: number, ...command: Command): void {
    this.#queue({ command });
  }

  done({ entryId }: Pick<Delivery, 'entryId'>): void {
    this.#queue({ done: entryId });
  }

  flushed(): Promise<void> {
    return this.#written;
  }

  #queue(one: Queued): void {
    if (this.#turn === undefined) {
      this.#turn = [];
      this.writes.push(this.#turn);
      this.#written = new Promise((resolve) => {
        setImmediate(() => {
          this.#turn = undefined;
          resolve();
        });
      });
    }
    this.#turn.push(one);
  }
}

/** A write in short: the kind of a reply, name and key of a command, `done`. */
export const inShort = (write: readonly Queued[]): string[] =>
  write.map(({ reply, command, done }) => {
    if (reply !== undefined) return reply.kind;
    return done === undefined ? `${command![0]} ${command![1]}` : 'done';
  });

/** How a request of `admissionRequest` leaves its lane, in short: it no longer counts, and is acknowledged. */
export const LEFT = ['ZREM {s0}:held:eu-west:org_a', 'done'];
