/** An Aho-Corasick automaton with every transition resolved: one table look-up per symbol, for any text. */
export interface Automaton {
  /** `next[state * width + symbol]` is the state that follows. State 0 has read nothing of use. */
  readonly next: Uint16Array;
  readonly width: number;
  /** Patterns that end at a state: `outputs[outputsAt[state] … outputsAt[state + 1]]`, indexes of the pattern list. */
  readonly outputsAt: Uint32Array;
  readonly outputs: Uint16Array;
}

/** States are 16-bit numbers: the shipped pack has about half of that. */
const STATES_MAX = 65_535;

/**
 * Compiles patterns (strings of symbols below `width`; empty ones are never found) into one automaton.
 * Time and memory are proportional to the patterns' total length times `width`. Throws `RangeError` beyond 65,535 states.
 */
export function buildAutomaton(patterns: readonly Uint8Array[], width: number): Automaton {
  const { next, endings, ways } = buildTrie(patterns, width);
  const fallback = new Uint16Array(endings.length);
  const queue: number[] = [0];
  // Breadth first: a state's fallback is shallower, so its row and its outputs are complete when they are copied.
  for (let head = 0; head < queue.length; head += 1) {
    const state = queue[head]!;
    const row = state * width;
    const back = fallback[state]! * width;
    // Most states have one child: the rest of the row is copied as it is.
    if (state !== 0) next.copyWithin(row, back, back + width);
    for (let child = ways.first[state]!; child !== 0; child = ways.sibling[child]!) {
      const at = row + ways.symbol[child]!;
      const elsewhere = state === 0 ? 0 : next[at]!;
      next[at] = child;
      fallback[child] = elsewhere;
      const further = endings[elsewhere];
      if (further !== undefined) endings[child] = [...(endings[child] ?? []), ...further];
      queue.push(child);
    }
  }
  const outputsAt = new Uint32Array(endings.length + 1);
  const outputs: number[] = [];
  endings.forEach((list, state) => {
    if (list !== undefined) outputs.push(...list);
    outputsAt[state + 1] = outputs.length;
  });
  return { next, width, outputsAt, outputs: Uint16Array.from(outputs) };
}

/** The children of each state as a list: the first, the one after each, and the symbol that leads to each; 0 is none. */
interface Ways {
  first: Uint16Array;
  sibling: Uint16Array;
  symbol: Uint8Array;
}

/** The patterns as a tree: child states in rows of `width` (0 where there is none), and what ends at each state. */
function buildTrie(
  patterns: readonly Uint8Array[],
  width: number,
): { next: Uint16Array; endings: (readonly number[] | undefined)[]; ways: Ways } {
  const symbols = patterns.reduce((sum, pattern) => sum + pattern.length, 0);
  const statesMax = Math.min(symbols, STATES_MAX) + 1;
  const rows = new Uint16Array(statesMax * width);
  const ways: Ways = {
    first: new Uint16Array(statesMax),
    sibling: new Uint16Array(statesMax),
    symbol: new Uint8Array(statesMax),
  };
  const endings: (readonly number[] | undefined)[] = [undefined];
  patterns.forEach((pattern, index) => {
    let state = 0;
    for (const symbol of pattern) {
      let child = rows[state * width + symbol]!;
      if (child === 0) {
        child = endings.length;
        if (child > STATES_MAX) throw new RangeError('the pack has too many terms');
        endings.push(undefined);
        rows[state * width + symbol] = child;
        ways.symbol[child] = symbol;
        ways.sibling[child] = ways.first[state]!;
        ways.first[state] = child;
      }
      state = child;
    }
    if (state !== 0) endings[state] = [...(endings[state] ?? []), index];
  });
  return { next: rows.slice(0, endings.length * width), endings, ways };
}
