interface Slot<V> {
  value: V;
  used: boolean;
}

/**
 * A map of bounded size that forgets what has not been used lately. A look-up only sets a flag;
 * moving an entry to the end, as a strict LRU does on each use, would cost more than the look-up.
 */
export class SecondChanceMap<V> {
  readonly #slots = new Map<string, Slot<V>>();
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
    this.#slots.set(key, { value, used: false });
  }

  delete(key: string): void {
    this.#slots.delete(key);
  }

  deleteWhere(matches: (value: V) => boolean): void {
    for (const [key, slot] of this.#slots) if (matches(slot.value)) this.#slots.delete(key);
  }

  some(matches: (value: V) => boolean): boolean {
    for (const { value } of this.#slots.values()) if (matches(value)) return true;
    return false;
  }

  /** Drops the oldest entry that was not used since it was last passed over. Ends: each pass clears a flag. */
  #evict(): void {
    for (const [key, slot] of this.#slots) {
      this.#slots.delete(key);
      if (!slot.used) return;
      slot.used = false;
      this.#slots.set(key, slot);
    }
  }
}
