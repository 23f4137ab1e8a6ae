import { alphabetOf, SPACE } from './alphabet.ts';
import { buildAutomaton } from './automaton.ts';
import type { Pack } from './pack.ts';
import type { ReadingTables } from './reader.ts';
import { buildSequences, type SequenceTables } from './sequences.ts';
import type { Term } from './terms.ts';

/**
 * Without word boundaries a short break ("ban", "law") would be found inside other words and would hide what it stands
 * in; six letters in a row are hardly there by accident.
 */
const SQUEEZED_LETTERS_MIN = 6;

/** A pack as the scan uses it: tables only, safe to share between readings. */
export interface CompiledPack {
  pack: Pack;
  terms: readonly Term[];
  groupsOfTerm: readonly ReadonlySet<string>[];
  reading: ReadingTables;
  sequences: SequenceTables;
}

/** Lays out a validated pack as tables. Throws `RangeError` when it has too many terms or letters. */
export function compileTables(pack: Pack): CompiledPack {
  const { terms, groupsOfTerm } = uniqueTerms(pack);
  const alphabet = alphabetOf(terms.map((term) => term.folded));
  const words = buildAutomaton(
    terms.map((term) => alphabet.encode(` ${term.folded}${term.open ? '' : ' '}`)),
    alphabet.size,
  );
  const sequences = buildSequences(pack, groupsOfTerm);
  const squeezed = buildAutomaton(
    terms.map((term, i) => {
      const letters = term.folded.replaceAll(' ', '');
      const needed = sequences.uses[i]!.steps.length > 0 || letters.length >= SQUEEZED_LETTERS_MIN;
      return alphabet.encode(needed ? letters : '');
    }),
    alphabet.size,
  );
  return {
    pack,
    terms,
    groupsOfTerm,
    reading: {
      alphabet,
      words,
      squeezed,
      atBoundary: boundaryStates(words.next, words.width),
      wordsOf: Uint8Array.from(terms, (term) => term.words),
      lettersOf: Uint16Array.from(terms, (term) => term.folded.replaceAll(' ', '').length),
    },
    sequences,
  };
}

/** A phrase that several groups list is one term. */
function uniqueTerms(pack: Pack): { terms: Term[]; groupsOfTerm: Set<string>[] } {
  const byKey = new Map<string, { term: Term; groups: Set<string> }>();
  for (const [group, terms] of Object.entries(pack.groups)) {
    for (const term of terms) {
      const key = `${term.folded}${term.open ? '*' : ''}`;
      const entry = byKey.get(key) ?? { term, groups: new Set<string>() };
      entry.groups.add(group);
      byKey.set(key, entry);
    }
  }
  const entries = [...byKey.values()];
  return {
    terms: entries.map((entry) => entry.term),
    groupsOfTerm: entries.map((entry) => entry.groups),
  };
}

/** A state that reading a space leads to ends with a space, and no other does. */
function boundaryStates(next: Uint16Array, width: number): Uint8Array {
  const states = new Uint8Array(next.length / width);
  for (let state = 0; state < states.length; state += 1) states[next[state * width + SPACE]!] = 1;
  return states;
}
