/** As long as a worker needs to say that its trial is taken, and that word to be read: one second each. */
const TRIAL_MS = 2_000;
/** So often an organisation may find out by itself whether an endpoint that failed others answers it well. */
const OWN_MS = 60_000;
/** Of more the one that tried longest ago is forgotten, and may try again. */
const OWN_MAX = 10_000;

/** Whose request it is, and what its circuit is known by. */
interface Asking {
  orgId: string;
  isDue: boolean;
  /** What opened it may be the fault of the few who met it. */
  answers: boolean;
}

/**
 * Lets requests through to circuits that are open: one at a time of this process to one that is due for a trial, and one of
 * each organisation in a while to one that failures of a few others have opened. A few could otherwise keep it open for others by
 * their own requests; the worker refuses those that have met its failures.
 */
export class Trials {
  readonly #takenAt = new Map<string, number>();
  readonly #ownAt = new Map<string, number>();

  /** Whether this request of an organisation is one. `now` in milliseconds. Names come from the catalogue, so they are few. */
  take(circuit: string, { isDue, answers, orgId }: Asking, now: number): boolean {
    if (isDue && isOver(this.#takenAt.get(circuit), TRIAL_MS, now)) {
      this.#takenAt.set(circuit, now);
      return true;
    }
    const own = `${orgId} ${circuit}`;
    if (!answers || !isOver(this.#ownAt.get(own), OWN_MS, now)) return false;
    this.#ownAt.delete(own);
    this.#ownAt.set(own, now);
    if (this.#ownAt.size > OWN_MAX) this.#ownAt.delete(this.#ownAt.keys().next().value!);
    return true;
  }
}

function isOver(at: number | undefined, ms: number, now: number): boolean {
  return at === undefined || now - at >= ms;
}
