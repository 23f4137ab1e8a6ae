import { receiptsLane } from '#shared/lanes/keys.ts';
import type { Reply, WireFault } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { HolderWrite, Holding, Outbox } from '#shared/lanes/redis/outbox.ts';
import type { StoredAnswerName } from '#shared/lanes/stored-answer.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';

type Command = Parameters<HolderWrite['command']>;

/** One thing that was queued: a reply, a command of a shard's transaction, a claim that is freed, or an acknowledgement. */
export interface Queued {
  reply?: Reply & { inbox: string; payload: string };
  command?: Command;
  freed?: [name: StoredAnswerName, fault: WireFault];
  done?: string;
}

/** What one turn of the event loop queued. */
interface Turn {
  messages: Queued[];
  ofHolders: Queued[];
}

/**
 * An outbox that writes nowhere and shows what would be written. As in the real one, what is queued in one turn of the
 * event loop is one write, which is what the client's reply and the acknowledgement of its entry must not be torn by, and
 * in which replies that belong to no delivery come before those that do.
 */
export class RecordedOutbox implements Pick<Outbox, 'send' | 'asHolder' | 'channelTo'> {
  /** All goes by inboxes. */
  readonly channelTo = (): undefined => undefined;
  /** What Redis says of the entry that a write is for: nothing is recorded of a write that it refuses. */
  holding: (delivery: Delivery) => Holding = () => 'held';
  /** What writes wait for besides their turn, where a test holds them up. */
  held: Promise<void> = Promise.resolve();
  readonly #turns: Turn[] = [];
  #turn: Turn | undefined;
  #written: Promise<void> = Promise.resolve();

  /** What each turn queued, in order. */
  get writes(): Queued[][] {
    return this.#turns
      .map(({ messages, ofHolders }) => [...messages, ...ofHolders])
      .filter((turn) => turn.length > 0);
  }

  /** Everything that was queued, in order. */
  get queued(): Queued[] {
    return this.writes.flat();
  }

  get freed(): [name: StoredAnswerName, fault: WireFault][] {
    return this.queued.flatMap(({ freed }) => (freed === undefined ? [] : [freed]));
  }

  get replies(): (Reply & { inbox: string; payload: string })[] {
    return this.queued.flatMap(({ reply }) => reply ?? []);
  }

  send(inbox: string, reply: Reply, payload: string = ''): void {
    this.#begin().messages.push({ reply: { ...reply, inbox, payload } });
  }

  asHolder(delivery: Delivery): HolderWrite {
    const holding = this.holding(delivery);
    const queue = (one: Queued): void => {
      if (holding === 'held') this.#begin().ofHolders.push(one);
    };
    const turn = this.#begin();
    const isCurrent = (): boolean => this.#turn === turn;
    return {
      get isOpen() {
        return isCurrent();
      },
      written: this.#written.then(() => this.held).then(() => holding),
      send: (inbox, reply, payload = '') => queue({ reply: { ...reply, inbox, payload } }),
      command: (...command) => queue({ command }),
      record: (entry) =>
        queue({ command: ['XADD', receiptsLane(delivery.shard), '*', 'e', encodeMessage(entry)] }),
      settleBudget: ({ counter, holder, used }) =>
        queue({ command: ['settle', counter, holder, used] }),
      free: (...freed) => queue({ freed }),
      done: () => queue({ done: delivery.entryId }),
    };
  }

  /** Resolves when what was queued in this turn is written, and those have been told who wait for that. */
  async flushed(): Promise<void> {
    await this.#written;
    await new Promise((resolve) => setImmediate(resolve));
  }

  #begin(): Turn {
    if (this.#turn !== undefined) return this.#turn;
    const turn: Turn = { messages: [], ofHolders: [] };
    this.#turn = turn;
    this.#written = new Promise((resolve) => {
      setImmediate(() => {
        this.#turn = undefined;
        resolve();
      });
    });
    this.#turns.push(turn);
    return turn;
  }
}

/** A write in short: the kind of a reply, name and key of a command, `free` and the claim, `done`. */
export const inShort = (write: readonly Queued[]): string[] =>
  write.map(({ reply, command, freed, done }) => {
    if (reply !== undefined) return reply.kind;
    if (freed !== undefined) return `free ${freed[0].claim}`;
    return done === undefined ? `${command![0]} ${command![1]}` : 'done';
  });

/** How a request of `admissionRequest` leaves its lane, in short: it no longer counts, and is acknowledged. */
export const LEFT = ['ZREM {s0}:held:eu-west:org_a', 'done'];
