interface Slot<V> {
  readonly key: string;
  /** Its place in the ring. */
  readonly place: number;
  value: V;
  used: boolean;
}

/** With nine entries of ten in use, one time in thirty no other is found; then one in use goes. A look takes some nanoseconds. */
const LOOKS_MAX = 32;

/**
 * A map of bounded size that forgets what has not been used lately. A look-up only sets a flag;
 * moving an entry to the end, as a strict LRU does on each use, would cost more than the look-up.
 * A hand goes round the entries and makes room where it stands, after a bounded number of looks.
 */
export class SecondChanceMap<V> {
  readonly #slots = new Map<string, Slot<V>>();
  readonly #ring: (Slot<V> | undefined)[] = [];
  /** Places of what was deleted: they are taken before an entry has to go. */
  readonly #free: number[] = [];
  #hand = 0;
  readonly #sizeMax: number;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  get size(): number {
    return this.#slots.size;
  }

  get(key: string): V | undefined {
    const slot = this.#slots.get(key);
    if (slot === undefined) return undefined;
    slot.used = true;
    return slot.value;
  }

  /** Looks without counting as a use. */
  peek(key: string): V | undefined {
    return this.#slots.get(key)?.value;
  }

  set(key: string, value: V): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) {
      slot.value = value;
      return;
    }
    if (this.#slots.size >= this.#sizeMax) this.#evict();
    const place = this.#free.pop() ?? this.#ring.length;
    const added = { key, place, value, used: false };
    this.#ring[place] = added;
    this.#slots.set(key, added);
  }

  delete(key: string): void {
    const slot = this.#slots.get(key);
    if (slot !== undefined) this.#remove(slot);
  }

  deleteWhere(matches: (value: V) => boolean): void {
    for (const slot of this.#slots.values()) if (matches(slot.value)) this.#remove(slot);
  }

  some(matches: (value: V) => boolean): boolean {
    for (const { value } of this.#slots.values()) if (matches(value)) return true;
    return false;
  }

  /**
   * Drops the next entry that was not used since the hand was there last, or the last of those that it may look at.
   * A map that is full has no free places.
   */
  #evict(): void {
    for (let looks = 1; ; looks += 1) {
      const slot = this.#ring[this.#hand]!;
      this.#hand = (this.#hand + 1) % this.#ring.length;
      if (!slot.used || looks >= LOOKS_MAX) {
        this.#remove(slot);
        return;
      }
      slot.used = false;
    }
  }

  #remove(slot: Slot<V>): void {
    this.#slots.delete(slot.key);
    this.#ring[slot.place] = undefined;
    this.#free.push(slot.place);
  }
}
