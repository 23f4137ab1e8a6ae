/** A source of numbers in [0, 1). */
export type Random = () => number;

/** FNV-1a over UTF-16 units: spreads short strings well and costs nothing to start. */
export function hashOf(text: string, basis = 0x811c9dc5): number {
  let hash = basis;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/**
 * The mulberry32 generator (Tommy Ettinger, public domain): 32 bits of state, the same sequence for
 * the same seed on every machine, which is what `seed` promises.
 */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}
