/** A place in PostgreSQL's log, and a moment before which all that was committed lies before it. */
interface Mark {
  at: number;
  place: bigint;
}

/**
 * Places of the last two minutes, at two a second. A replica that is further behind is as good as one that is away, and the
 * lag that is shown goes on counting from what it was last known to hold.
 */
const MARKS_MAX = 240;
/** Pages of the log begin with a head, of 40 bytes at most, before which a replica stands that has replayed all there is. */
const PAGE_BYTES = 8_192n;
const PAGE_HEAD_BYTES = 40n;

/**
 * How far a replica is behind, by the clock of this process alone: the primary's place in the log is noted with its moment,
 * and what the replica has replayed says up to which of these moments it holds everything. So a primary with nothing to do is
 * no lag, and a replica whose connection to it is cut is behind more and more, which its own clock would not say.
 */
export class ReplicaLag {
  #marks: Mark[] = [];
  #heldAt: number | undefined;

  /** The primary said `place` when it was asked at `at`, or later. */
  noted(at: number, place: bigint): void {
    const inPage = place % PAGE_BYTES;
    this.#marks.push({ at, place: inPage <= PAGE_HEAD_BYTES ? place - inPage : place });
    if (this.#marks.length > MARKS_MAX) this.#marks.shift();
  }

  /** The replica has replayed the log to `place`. */
  replayed(place: bigint): void {
    const held = this.#marks.findLast((mark) => mark.place <= place);
    if (held === undefined) return;
    this.#heldAt = Math.max(held.at, this.#heldAt ?? held.at);
    this.#marks = this.#marks.filter(({ at }) => at >= held.at);
  }

  /** Nothing is known of it any more. */
  forget(): void {
    this.#heldAt = undefined;
  }

  /** For how long, at most, something may be committed that the replica does not hold; undefined when that is not known. */
  behindMs(now: number): number | undefined {
    return this.#heldAt === undefined ? undefined : Math.max(0, now - this.#heldAt);
  }
}

/** PostgreSQL writes a place as two hexadecimal halves, `16/B374D848`. Undefined for anything else. */
export function placeOf(text: string | null): bigint | undefined {
  const [, high, low] = /^([\dA-F]{1,8})\/([\dA-F]{1,8})$/i.exec(text ?? '') ?? [];
  if (high === undefined || low === undefined) return undefined;
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}
