const SMALLEST = 64;
/** So many characters at an id's end are random enough, and few enough to be looked at on every message. */
const HASHED_CHARS = 6;

/**
 * Requests in flight by their ids: open addressing with linear probing, at most half full.
 *
 * Why not a Map: V8 links each outgrown table of a Map to its successor, and a Map that entries keep coming to and
 * leaving is outgrown every few dozen entries. Once one table is old, the chain keeps every finished request alive until
 * the next full collection: of an api process's garbage a third was copied twice for that.
 */
export class InFlight<Value> {
  #ids: (string | undefined)[] = Array.from({ length: SMALLEST }, () => undefined);
  #values: (Value | undefined)[] = Array.from({ length: SMALLEST }, () => undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: string): Value | undefined {
    return this.#values[this.#placeOf(id)];
  }

  set(id: string, value: Value): void {
    if ((this.#size + 1) * 2 > this.#ids.length) this.#grow();
    const place = this.#placeOf(id);
    if (this.#ids[place] === undefined) this.#size += 1;
    this.#ids[place] = id;
    this.#values[place] = value;
  }

  /** Returns whether it was there. */
  delete(id: string): boolean {
    let gap = this.#placeOf(id);
    if (this.#ids[gap] === undefined) return false;
    this.#size -= 1;
    const mask = this.#ids.length - 1;
    // What was pushed beyond the gap moves back into it, so that no search ends too early.
    for (let place = (gap + 1) & mask; this.#ids[place] !== undefined; place = (place + 1) & mask) {
      const home = hashOf(this.#ids[place]!) & mask;
      if (((place - home) & mask) < ((place - gap) & mask)) continue;
      this.#ids[gap] = this.#ids[place];
      this.#values[gap] = this.#values[place];
      gap = place;
    }
    this.#ids[gap] = undefined;
    this.#values[gap] = undefined;
    return true;
  }

  /** All values, in no order, as of now: entries may come and go while they are looked at. */
  values(): Value[] {
    return this.#values.filter((_, place) => this.#ids[place] !== undefined) as Value[];
  }

  /** Where the id is, or the free place where it would be. */
  #placeOf(id: string): number {
    const mask = this.#ids.length - 1;
    let place = hashOf(id) & mask;
    while (this.#ids[place] !== undefined && this.#ids[place] !== id) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const ids = this.#ids;
    const values = this.#values;
    this.#ids = Array.from({ length: ids.length * 2 }, () => undefined);
    this.#values = Array.from({ length: ids.length * 2 }, () => undefined);
    for (let i = 0; i < ids.length; i += 1) {
      if (ids[i] === undefined) continue;
      const place = this.#placeOf(ids[i]!);
      this.#ids[place] = ids[i];
      this.#values[place] = values[i];
    }
  }
}

/** Five bits of each of the last characters: the digits of a ULID differ in those. */
function hashOf(id: string): number {
  let hash = 0;
  for (let i = Math.max(0, id.length - HASHED_CHARS); i < id.length; i += 1) {
    hash = (hash << 5) ^ (hash >>> 10) ^ (id.charCodeAt(i) & 31);
  }
  return hash >>> 0;
}
