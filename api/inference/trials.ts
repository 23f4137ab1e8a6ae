/** As long as a worker needs to say that its trial is taken, and that word to be read: one second each. */
const TRIAL_MS = 2_000;

/** Lets one request at a time of this process through to a circuit that is open and due for a trial. */
export class Trials {
  readonly #takenAt = new Map<string, number>();

  /** Whether this request is the one. `now` in milliseconds. Names come from the catalogue, so they are few. */
  take(circuit: string, now: number): boolean {
    if (now - (this.#takenAt.get(circuit) ?? Number.NEGATIVE_INFINITY) < TRIAL_MS) return false;
    this.#takenAt.set(circuit, now);
    return true;
  }
}
