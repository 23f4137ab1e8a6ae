/** A chat takes some 0.2 ms until it waits for a store. */
const BEGUN_OF_ONE = 8;
/** Of all callers: some milliseconds, after which the event loop looks what else has come. */
const BEGUN_OF_ALL = 16;

interface Turn {
  begun: number;
  waiting: (() => void)[];
}

/**
 * Has each caller begin so many requests in one turn of the event loop, in the order in which they came, and all callers so
 * many; what is asked beyond that waits for the next, in which callers begin one after the other.
 */
export class Turns {
  /** In the order in which they are next. */
  readonly #ofCallers = new Map<string, Turn>();
  readonly #isForOthers: () => boolean;
  #begun = 0;
  #isPlanned = false;

  /** In a turn that is for others it begins nothing. */
  constructor(isForOthers: () => boolean = () => false) {
    this.#isForOthers = isForOthers;
  }

  /** Says that a request may begin now, or has it begun in a later turn. */
  take(caller: string, begin: () => void): boolean {
    let turn = this.#ofCallers.get(caller);
    if (turn === undefined) {
      turn = { begun: 0, waiting: [] };
      this.#ofCallers.set(caller, turn);
      this.#plan();
    }
    const hasRoom = turn.begun < BEGUN_OF_ONE && this.#begun < BEGUN_OF_ALL;
    if (hasRoom && turn.waiting.length === 0 && !this.#isForOthers()) {
      turn.begun += 1;
      this.#begun += 1;
      return true;
    }
    turn.waiting.push(begin);
    return false;
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    setImmediate(() => {
      this.#isPlanned = false;
      this.#next();
    });
  }

  #next(): void {
    this.#begun = 0;
    if (this.#isForOthers()) return this.#plan();
    for (const [caller, turn] of this.#ofCallers) {
      turn.begun = 0;
      if (turn.waiting.length === 0) this.#ofCallers.delete(caller);
    }
    // One that begins a request goes to the end, so that each has one before any has two.
    for (const [caller, turn] of this.#ofCallers) {
      if (this.#begun >= BEGUN_OF_ALL) break;
      const begin = turn.begun < BEGUN_OF_ONE ? turn.waiting.shift() : undefined;
      if (begin === undefined) continue;
      this.#ofCallers.delete(caller);
      this.#ofCallers.set(caller, turn);
      turn.begun += 1;
      this.#begun += 1;
      begin();
    }
    if (this.#ofCallers.size > 0) this.#plan();
  }
}
