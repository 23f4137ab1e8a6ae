import type { Pack, Pattern } from './pack.ts';

/*
 * The patterns of a pack as one tree: patterns that begin alike share their first steps. A step is one element of a
 * sequence; whether it has been reached is a history of 32 bits, bit i saying "reached at the word i back". So a term
 * costs a few operations for each step it can take, however long the text and however often its parts repeat.
 */
export interface SequenceTables {
  /** Per step: the step before it, −1 for a first one. */
  parents: readonly number[];
  /** Per step: words allowed since the step before. */
  gaps: readonly number[];
  /** Per step: which break set applies, −1 for none. */
  breakSets: readonly number[];
  /** Per step: the rules that are complete with it (indexes of the pack's list). */
  completes: readonly (readonly number[])[];
  breakSetCount: number;
  guardWithin: number;
  /** Per term: what it means to the patterns. */
  uses: readonly TermUse[];
  /** Words of 32 bits in a set of steps. */
  setWords: number;
  /** Per term: the steps it can take as a bit set, `setWords` words each. */
  stepBits: Int32Array;
  /** Per finished sequence: the steps it is made of. A text without terms for all of them needs no matching. */
  needs: readonly Int32Array[];
}

interface TermUse {
  steps: readonly number[];
  breakSets: readonly number[];
  guard: boolean;
  mask: boolean;
}

/** Lays out the patterns of a pack. `groupsOfTerm` lists, for every term, the groups it is in. */
export function buildSequences(
  pack: Pack,
  groupsOfTerm: readonly ReadonlySet<string>[],
): SequenceTables {
  const parents: number[] = [];
  const gaps: number[] = [];
  const breakSets: number[] = [];
  const completes: number[][] = [];
  const elements: (readonly string[])[] = [];
  const steps = new Map<string, number>();
  const sets = new Map<string, { number: number; groups: readonly string[] }>();

  const stepOf = (parent: number, element: readonly string[], pattern: Pattern): number => {
    const set = parent < 0 || pattern.break.length === 0 ? -1 : setOf(pattern.break);
    const gap = parent < 0 ? 0 : pattern.gap;
    const key = JSON.stringify([parent, gap, set, element.toSorted()]);
    const known = steps.get(key);
    if (known !== undefined) return known;
    parents.push(parent);
    gaps.push(gap);
    breakSets.push(set);
    completes.push([]);
    elements.push(element);
    steps.set(key, parents.length - 1);
    return parents.length - 1;
  };
  const setOf = (groups: readonly string[]): number => {
    const key = JSON.stringify(groups.toSorted());
    const set = sets.get(key) ?? { number: sets.size, groups };
    sets.set(key, set);
    return set.number;
  };

  pack.rules.forEach((rule, index) => {
    for (const pattern of rule.any.flatMap(orders)) {
      let step = -1;
      for (const element of pattern.sequence) step = stepOf(step, element, pattern);
      if (!completes[step]!.includes(index)) completes[step]!.push(index);
    }
  });
  const isIn = (groups: ReadonlySet<string>, names: Iterable<string>): boolean =>
    [...names].some((name) => groups.has(name));
  const useOf = (groups: ReadonlySet<string>): TermUse => ({
    steps: elements.flatMap((element, step) => (isIn(groups, element) ? [step] : [])),
    breakSets: [...sets.values()].filter((s) => isIn(groups, s.groups)).map((s) => s.number),
    guard: isIn(groups, pack.guard.groups),
    mask: isIn(groups, pack.masks),
  });
  // Thousands of terms are in some dozens of groups.
  const usesOfGroups = new Map<string, TermUse>();
  const uses = groupsOfTerm.map((groups) => {
    const name = [...groups].join(' ');
    const use = usesOfGroups.get(name) ?? useOf(groups);
    usesOfGroups.set(name, use);
    return use;
  });
  const setWords = Math.ceil(parents.length / 32);
  const stepBits = new Int32Array(uses.length * setWords);
  uses.forEach((use, term) => use.steps.forEach((step) => setBit(stepBits, term * setWords, step)));
  return {
    parents,
    gaps,
    breakSets,
    completes,
    setWords,
    stepBits,
    needs: needsOf(parents, completes, setWords),
    breakSetCount: sets.size,
    guardWithin: pack.guard.within,
    uses,
  };
}

/** A pattern whose elements may come in any order is one pattern for each order. */
function orders(pattern: Pattern): Pattern[] {
  if (pattern.order === 'given') return [pattern];
  return permutations(pattern.sequence).map((sequence) => ({
    ...pattern,
    sequence,
    order: 'given',
  }));
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, i) =>
    permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]),
  );
}

/** The steps of each finished sequence, as bit sets of `words` words. */
function needsOf(
  parents: readonly number[],
  completes: readonly number[][],
  words: number,
): Int32Array[] {
  return completes.flatMap((rules, last) => {
    if (rules.length === 0) return [];
    const need = new Int32Array(words);
    for (let step = last; step >= 0; step = parents[step]!) setBit(need, 0, step);
    return [need];
  });
}

function setBit(bits: Int32Array, from: number, bit: number): void {
  bits[from + (bit >> 5)]! |= 1 << (bit & 31);
}

/** True when the terms seen (their `stepBits` together) include one for every step of some sequence. */
export function canComplete(tables: SequenceTables, seen: Int32Array): boolean {
  return tables.needs.some((need) => need.every((bits, word) => (seen[word]! & bits) === bits));
}

/** The way to a step, for `explain`: the term's span and the step before it. */
export interface Evidence {
  start: number;
  end: number;
  before: Evidence | null;
}

/** Follows the patterns through the terms of one reading. Terms must come with non-decreasing `end`. */
export class SequenceMatcher {
  /** One per history looked at. */
  steps = 0;
  readonly #tables: SequenceTables;
  readonly #reached: Int32Array;
  readonly #reachedAt: Int32Array;
  /** Per break set: bit i says that a break began at the word i back. */
  readonly #broken: Int32Array;
  readonly #brokenAt: Int32Array;
  #guarded = 0;
  #guardedAt = 0;
  readonly #evidence: Map<number, Evidence>[] | undefined;

  constructor(tables: SequenceTables, withEvidence: boolean) {
    this.#tables = tables;
    this.#reached = new Int32Array(tables.parents.length);
    this.#reachedAt = new Int32Array(tables.parents.length);
    this.#broken = new Int32Array(tables.breakSetCount);
    this.#brokenAt = new Int32Array(tables.breakSetCount);
    this.#evidence = withEvidence ? tables.parents.map(() => new Map()) : undefined;
  }

  /** Takes a term at words `start` to `end`; calls `complete` for each rule that it completes. */
  take(
    term: number,
    start: number,
    end: number,
    complete: (rule: number, evidence: Evidence | undefined) => void,
  ): void {
    const use = this.#tables.uses[term]!;
    for (const step of use.steps) {
      this.steps += 1;
      const from = this.#reachable(step, start, end);
      if (from < 0) continue;
      this.#reached[step] = history(this.#reached[step]!, this.#reachedAt[step]!, end) | 1;
      this.#reachedAt[step] = end;
      const evidence = this.#record(step, start, end, from);
      for (const rule of this.#tables.completes[step]!) complete(rule, evidence);
    }
    for (const set of use.breakSets) {
      this.steps += 1;
      const aligned = history(this.#broken[set]!, this.#brokenAt[set]!, end);
      this.#broken[set] = aligned | (1 << (end - start));
      this.#brokenAt[set] = end;
    }
    if (use.guard) {
      this.#guarded = history(this.#guarded, this.#guardedAt, end) | 1;
      this.#guardedAt = end;
    }
  }

  /** The word at which the step before was reached (0 for a first step), or −1 when this step cannot be taken. */
  #reachable(step: number, start: number, end: number): number {
    const { parents, gaps, breakSets, guardWithin } = this.#tables;
    const parent = parents[step]!;
    const behind = end - start + 1;
    if (parent < 0) {
      const guards = history(this.#guarded, this.#guardedAt, end);
      return (guards & below(behind + guardWithin)) === 0 ? 0 : -1;
    }
    const before = history(this.#reached[parent]!, this.#reachedAt[parent]!, end);
    let ends = before & below(behind + gaps[step]! + 1) & ~below(behind);
    const set = breakSets[step]!;
    if (ends !== 0 && set >= 0) {
      const breaks = history(this.#broken[set]!, this.#brokenAt[set]!, end) & ~below(behind);
      // Only what was reached at or after the beginning of the last break still counts.
      if (breaks !== 0) ends &= below(lowestBit(breaks) + 1);
    }
    return ends === 0 ? -1 : end - lowestBit(ends);
  }

  #record(step: number, start: number, end: number, from: number): Evidence | undefined {
    if (this.#evidence === undefined) return undefined;
    const parent = this.#tables.parents[step]!;
    const before = parent < 0 ? null : (this.#evidence[parent]!.get(from) ?? null);
    const evidence = { start, end, before };
    this.#evidence[step]!.set(end, evidence);
    return evidence;
  }
}

/** A history as seen from the word `now`, which is not before `then`. */
function history(bits: number, then: number, now: number): number {
  const age = now - then;
  return age > 31 ? 0 : bits << age;
}

/** The lowest `count` bits. */
function below(count: number): number {
  return count > 31 ? -1 : (1 << count) - 1;
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
