import type { CompiledPack } from './compile.ts';
import type { ScreenCode } from './pack.ts';
import { Run } from './run.ts';
import type { Evidence } from './sequences.ts';

/** A place in a text, in UTF-16 units. */
interface Span {
  start: number;
  end: number;
}

interface TermHit extends Span {
  /** As the pack writes it, alternatives resolved. */
  term: string;
  groups: readonly string[];
  /** True when an innocent phrase hides it. */
  masked: boolean;
}

interface RuleHit extends Span {
  rule: string;
  code: ScreenCode;
  category: string;
  /** The places of the sequence's elements, in their order. */
  evidence: readonly Span[];
}

export interface Explanation {
  policyVersion: string;
  terms: readonly TermHit[];
  rules: readonly RuleHit[];
}

/** Every term and every rule found in one text, with their places. */
export function explainText(compiled: CompiledPack, text: string): Explanation {
  const places = new Map<number, Span>();
  const terms: TermHit[] = [];
  const rules: RuleHit[] = [];
  const spanOf = (first: number, last: number): Span => {
    const span = { start: text.length, end: 0 };
    for (let word = first; word <= last; word += 1) {
      const place = places.get(word);
      if (place === undefined) continue;
      span.start = Math.min(span.start, place.start);
      span.end = Math.max(span.end, place.end);
    }
    return span.start < span.end ? span : { start: span.end, end: span.end };
  };
  const run = new Run(compiled, {
    word: (number, from) => places.set(number, { start: from, end: from + 1 }),
    wordEnd: (number, to) =>
      places.set(number, { start: places.get(number)?.start ?? to, end: to }),
    term(term, start, end, masked) {
      const groups = [...compiled.groupsOfTerm[term]!].toSorted();
      terms.push({ term: compiled.terms[term]!.text, groups, masked, ...spanOf(start, end) });
    },
    rule(index, last) {
      const { id, code, category } = compiled.pack.rules[index]!;
      const evidence = chain(last).map((one) => spanOf(one.start, one.end));
      const start = Math.min(...evidence.map((span) => span.start));
      const end = Math.max(...evidence.map((span) => span.end));
      rules.push({ rule: id, code, category, start, end, evidence });
    },
  });
  run.begin();
  run.read(text, 0, text.length);
  run.endText(text);
  run.finish();
  return { policyVersion: compiled.pack.version, terms: distinct(terms), rules: distinct(rules) };
}

function chain(last: Evidence): Evidence[] {
  const steps: Evidence[] = [];
  for (let one: Evidence | null = last; one !== null; one = one.before) steps.unshift(one);
  return steps;
}

/** Two readings of the same words find the same things. */
function distinct<T>(items: readonly T[]): T[] {
  const seen = new Map(items.map((item) => [JSON.stringify(item), item]));
  return [...seen.values()];
}
