/** A chat takes some 0.2 ms until it waits for a store. */
const BEGUN_OF_ONE = 8;

interface Turn {
  begun: number;
  waiting: (() => void)[];
}

/**
 * Has each caller begin so many requests in one turn of the event loop, in the order in which they came; what it asked beyond
 * that waits for the next, and what others ask is begun in between.
 */
export class Turns {
  readonly #ofCallers = new Map<string, Turn>();
  #isPlanned = false;

  /** Says that a request may begin now, or has it begun in a later turn. */
  take(caller: string, begin: () => void): boolean {
    let turn = this.#ofCallers.get(caller);
    if (turn === undefined) {
      turn = { begun: 0, waiting: [] };
      this.#ofCallers.set(caller, turn);
      this.#plan();
    }
    if (turn.begun < BEGUN_OF_ONE) {
      turn.begun += 1;
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
    for (const [caller, turn] of this.#ofCallers) {
      const begun = turn.waiting.splice(0, BEGUN_OF_ONE);
      turn.begun = begun.length;
      if (begun.length === 0) this.#ofCallers.delete(caller);
      for (const begin of begun) begin();
    }
    if (this.#ofCallers.size > 0) this.#plan();
  }
}
