import type { CompiledPack } from './compile.ts';
import { Reader, type Trace } from './reader.ts';
import { canComplete, type Evidence, SequenceMatcher } from './sequences.ts';
import { TERM_WORDS_MAX } from './terms.ts';

/** Terms held before they are matched. A text of 10 KB rarely has a hundred. */
export const HELD_MAX = 1_024;
/** More words than any pattern can span: what one check leaves behind means nothing to the next. */
const WORDS_APART = 1_024;

/** For `explain`: where words lie, every term with whether an innocent phrase hides it, and every rule completed. */
export interface Observer extends Trace {
  term(term: number, start: number, end: number, masked: boolean): void;
  rule(rule: number, evidence: Evidence): void;
}

/**
 * One reading with its matcher. Terms are held a little while before they are matched, because a phrase that ends
 * later may mask them; and when they do not cover every step of some sequence they are never matched at all, which is
 * the usual case.
 */
export class Run {
  /** The first rule completed, as its index in the pack. */
  rule: number | null = null;
  readonly #compiled: CompiledPack;
  readonly #observer: Observer | undefined;
  readonly #reader: Reader;
  readonly #matcher: SequenceMatcher;
  /** Triples of term, first word, last word. */
  readonly #held = new Int32Array(HELD_MAX * 3);
  #heldCount = 0;
  /** The steps that the terms so far could take, as a bit set. */
  readonly #seen: Int32Array;
  #stepsBefore = 0;

  constructor(compiled: CompiledPack, observer?: Observer) {
    this.#compiled = compiled;
    this.#observer = observer;
    this.#seen = new Int32Array(compiled.sequences.setWords);
    this.#matcher = new SequenceMatcher(compiled.sequences, observer !== undefined);
    this.#reader = new Reader(
      compiled.reading,
      (t, start, end) => this.#hold(t, start, end),
      observer,
    );
  }

  /** Number of the last word read, over all checks so far. */
  get word(): number {
    return this.#reader.word;
  }

  /** Work since `begin`. */
  get steps(): number {
    return this.#reader.steps + this.#matcher.steps - this.#stepsBefore;
  }

  /** Forgets everything read before. */
  begin(): void {
    this.#reader.restart(WORDS_APART);
    this.#stepsBefore = this.#reader.steps + this.#matcher.steps;
    this.#heldCount = 0;
    this.#seen.fill(0);
    this.rule = null;
  }

  /** Reads from unit `from` to about `to`; returns where to go on. */
  read(text: string, from: number, to: number): number {
    return this.#reader.read(text, from, to);
  }

  endText(text: string): void {
    this.#reader.endText(text.length);
  }

  /** Matches what is still held. */
  finish(): void {
    if (this.#observer !== undefined || canComplete(this.#compiled.sequences, this.#seen)) {
      this.#match(this.#heldCount);
    }
    this.#heldCount = 0;
  }

  #hold(term: number, start: number, end: number): void {
    if (this.#heldCount === HELD_MAX) this.#makeRoom(end);
    const at = this.#heldCount * 3;
    this.#held[at] = term;
    this.#held[at + 1] = start;
    this.#held[at + 2] = end;
    this.#heldCount += 1;
    const { setWords, stepBits } = this.#compiled.sequences;
    for (let i = 0; i < setWords; i += 1) this.#seen[i]! |= stepBits[term * setWords + i]!;
  }

  /** Matches all that no later phrase can mask any more (everything, if that is nothing) and keeps the rest. */
  #makeRoom(word: number): void {
    let settled = this.#heldCount;
    while (settled > 0 && this.#held[settled * 3 - 1]! > word - TERM_WORDS_MAX) settled -= 1;
    if (settled === 0) settled = this.#heldCount;
    this.#match(settled);
    this.#held.copyWithin(0, settled * 3, this.#heldCount * 3);
    this.#heldCount -= settled;
  }

  #match(count: number): void {
    const { uses } = this.#compiled.sequences;
    const held = this.#held;
    let mask = 0;
    for (let i = 0; i < count * 3; i += 3) {
      const [term, start, end] = [held[i]!, held[i + 1]!, held[i + 2]!];
      while (mask < this.#heldCount * 3 && (held[mask + 2]! < end || !uses[held[mask]!]!.mask))
        mask += 3;
      const masked = this.#isMasked(mask, start, end);
      this.#observer?.term(term, start, end, masked);
      if (!masked) this.#matcher.take(term, start, end, this.#complete);
    }
  }

  /** `from` is the first held mask that does not end before `end`. */
  #isMasked(from: number, start: number, end: number): boolean {
    const held = this.#held;
    const { uses } = this.#compiled.sequences;
    for (let i = from; i < this.#heldCount * 3; i += 3) {
      if (held[i + 2]! >= end + TERM_WORDS_MAX) return false;
      if (held[i + 1]! <= start && uses[held[i]!]!.mask) return true;
    }
    return false;
  }

  readonly #complete = (rule: number, evidence: Evidence | undefined): void => {
    this.rule ??= rule;
    if (evidence !== undefined) this.#observer?.rule(rule, evidence);
  };
}
