import { REPEATED_BYTES } from '#shared/receipts/repeated.ts';
import { PackProblem } from './problem.ts';

/** What the walk must know of an entry, in the order of the ledger. */
export interface WalkedEntry {
  index: number;
  /** The entry that revises this one, by the checkpoint; null when it is the current one. */
  supersededBy: number | null;
  /** SHA-256 of the entry's bytes; asked for only when it is superseded. */
  digest: () => Uint8Array;
  /** What a revision says of the entry that it revises. */
  revises: { leafIndex: number; digest: Uint8Array } | null;
  /** What a revision has to repeat: of this entry, and what that may be of the one that it revises. Not compared when absent. */
  repeated?: { own: Uint8Array; before: readonly Uint8Array[] };
}

/** Of a link: the entries at both ends, and whether the inference itself lies in the range. 65 bytes a link. */
const DIGEST_BYTES = 32;
const GROW_FROM = 1_024;

/**
 * Follows revisions through a range of the ledger and the revisions that came after it, entry by entry, and tells which
 * receipts count: the current one of every inference whose first receipt lies in the range. Holds only the links whose
 * newer end has not come yet, and those seen: nothing for entries that were never revised.
 */
export class RevisionLinks {
  readonly #first: number;
  readonly #end: number;
  readonly #size: number;
  #older = new Float64Array(GROW_FROM);
  #newer = new Float64Array(GROW_FROM);
  #rooted = new Uint8Array(GROW_FROM);
  #digests = new Uint8Array(GROW_FROM * DIGEST_BYTES);
  #repeated = new Uint8Array(GROW_FROM * REPEATED_BYTES);
  #links = 0;
  #closed = 0;
  #last = -1;

  /** @param range entries `first` to `end` (excluded) of a ledger of `size` entries */
  constructor(range: { first: number; end: number; size: number }) {
    this.#first = range.first;
    this.#end = range.end;
    this.#size = range.size;
  }

  /**
   * Takes the next entry. Returns whether it counts.
   * @throws PackProblem `revision_mismatch` when it and an entry before it contradict each other
   */
  take({ index, supersededBy, digest, revises, repeated }: WalkedEntry): boolean {
    if (index <= this.#last) throw mismatch(index, 'Entries are not in the order of the ledger.');
    this.#last = index;
    const rooted =
      revises === null ? this.#original(index) : this.#revision(index, revises, repeated?.before);
    if (supersededBy === null) return rooted;
    if (!(supersededBy > index && supersededBy < this.#size)) {
      throw mismatch(index, 'A revision lies after what it revises, and before the checkpoint.');
    }
    this.#add(index, supersededBy, rooted, digest(), repeated?.own);
    return false;
  }

  /** Is `newer` announced as the revision of `older`? */
  has(older: number, newer: number): boolean {
    const at = this.#find(older);
    return at >= 0 && this.#newer[at] === newer;
  }

  /** Links whose revision has not come. */
  get open(): number {
    return this.#links - this.#closed;
  }

  /** @throws PackProblem `revision_missing` unless every revision that was announced has come */
  finish(): void {
    if (this.open > 0) {
      throw new PackProblem(
        'revision_missing',
        'data/revisions',
        `${this.open} revisions that receipts of the range have are not in the pack.`,
      );
    }
  }

  #original(index: number): boolean {
    if (index < this.#end) return true;
    throw mismatch(index, 'Outside the range only revisions of its receipts have a place.');
  }

  #revision(
    index: number,
    revises: { leafIndex: number; digest: Uint8Array },
    before: readonly Uint8Array[] | undefined,
  ): boolean {
    const { leafIndex, digest } = revises;
    if (leafIndex >= index) throw mismatch(index, 'A receipt cannot revise a later one.');
    // What it revises lies before the range: it is not the pack's to say what counts of that.
    if (leafIndex < this.#first && index < this.#end) return false;
    const at = this.#find(leafIndex);
    if (at < 0 || this.#newer[at] !== index) {
      throw mismatch(index, 'It revises a receipt that is not said to be revised by it.');
    }
    const start = at * DIGEST_BYTES;
    const known = this.#digests.subarray(start, start + DIGEST_BYTES);
    if (!known.every((byte, i) => byte === digest[i])) {
      throw mismatch(index, 'It revises other bytes than those of the entry that it names.');
    }
    const said = this.#repeated.subarray(at * REPEATED_BYTES, (at + 1) * REPEATED_BYTES);
    if (before?.some((each) => each.every((byte, i) => byte === said[i])) === false) {
      throw mismatch(
        index,
        'It says other things of the inference than the receipt that it revises, or has another number.',
      );
    }
    this.#closed += 1;
    return this.#rooted[at] === 1;
  }

  #add(
    older: number,
    newer: number,
    rooted: boolean,
    digest: Uint8Array,
    repeated: Uint8Array | undefined,
  ): void {
    if (this.#links === this.#older.length) this.#grow();
    this.#older[this.#links] = older;
    this.#newer[this.#links] = newer;
    this.#rooted[this.#links] = rooted ? 1 : 0;
    this.#digests.set(digest, this.#links * DIGEST_BYTES);
    if (repeated !== undefined) this.#repeated.set(repeated, this.#links * REPEATED_BYTES);
    this.#links += 1;
  }

  #grow(): void {
    const size = this.#links * 2;
    const [older, newer, rooted] = [this.#older, this.#newer, this.#rooted];
    const [digests, repeated] = [this.#digests, this.#repeated];
    (this.#older = new Float64Array(size)).set(older);
    (this.#newer = new Float64Array(size)).set(newer);
    (this.#rooted = new Uint8Array(size)).set(rooted);
    (this.#digests = new Uint8Array(size * DIGEST_BYTES)).set(digests);
    (this.#repeated = new Uint8Array(size * REPEATED_BYTES)).set(repeated);
  }

  /** Links are added in ascending order of their older end. */
  #find(older: number): number {
    let [low, high] = [0, this.#links - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const value = this.#older[middle]!;
      if (value === older) return middle;
      if (value < older) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }
}

function mismatch(index: number, message: string): PackProblem {
  return new PackProblem('revision_mismatch', `entry ${index}`, message);
}
