import { availableParallelism } from 'node:os';
import { Fault } from '#shared/kernel/errors.ts';

/** A hash takes a core for 60 ms: passwords take half of them, and leave one thread of four to all else that needs one. */
const AT_ONCE = Math.min(3, Math.max(1, Math.floor(availableParallelism() / 2)));
/** The last of so many waits for three seconds, which a person does. */
export const WAITING_MAX = 48;
const RETRY_MS = 5_000;

interface Waiting {
  begin: () => void;
  refuse: (fault: Fault) => void;
}

/**
 * Where work that hashes a password waits: few at once, addresses in turn, so that an honest person waits for one
 * hash of each address that floods and for no more. What does not fit is refused at once; when all places are taken,
 * an address that waits with more of them gives way to one with fewer.
 */
export class HashingQueue {
  readonly #atOnce: number;
  #running = 0;
  #waitingCount = 0;
  /** By address, in the order of their turns. */
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(atOnce: number = AT_ONCE) {
    this.#atOnce = atOnce;
  }

  /** @throws Fault 503 when too many wait */
  async run<T>(address: string, work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turnOf(address);
    else this.#running += 1;
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  #turnOf(address: string): Promise<void> {
    const own = this.#waiting.get(address) ?? [];
    if (this.#waitingCount >= WAITING_MAX) this.#makeRoom(own.length);
    this.#waiting.set(address, own);
    this.#waitingCount += 1;
    return new Promise((begin, refuse) => own.push({ begin, refuse }));
  }

  #makeRoom(ownCount: number): void {
    const longest = [...this.#waiting.values()].reduce((a, b) => (b.length > a.length ? b : a));
    if (longest.length <= ownCount + 1) throw tooManyWait();
    longest.pop()!.refuse(tooManyWait());
    this.#waitingCount -= 1;
  }

  /** The place that became free is that of the next address. */
  #passOn(): void {
    const next = this.#waiting.entries().next().value;
    if (next === undefined) {
      this.#running -= 1;
      return;
    }
    const [address, [first, ...rest]] = next;
    this.#waiting.delete(address);
    if (rest.length > 0) this.#waiting.set(address, rest);
    this.#waitingCount -= 1;
    first!.begin();
  }
}

function tooManyWait(): Fault {
  return new Fault('dispatch_unavailable', { retryAfterMs: RETRY_MS });
}
