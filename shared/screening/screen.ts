import { compileTables } from './compile.ts';
import { type Explanation, explainText } from './explain.ts';
import type { Pack, ScreenCode } from './pack.ts';
import { Run } from './run.ts';

/** A request is refused by this rule, which operators can read and callers cannot. */
export interface Verdict {
  rule: string;
  code: ScreenCode;
}

export interface Screen {
  /** Of the rule pack. Receipts name it, whichever stage has blocked: it is the version of the whole policy. */
  readonly policyVersion: string;
  /** The pack's content digest. */
  readonly digest: string;
  /** The first rule that the texts break, or null. They are read as one, in order: a sentence cut in two is still one. */
  check(texts: Iterable<string>): Verdict | null;
  /** The same in turns of at most 64 Ki characters, so that a large body does not hold up other requests. */
  checkInTurns(texts: Iterable<string>): Generator<void, Verdict | null>;
  /** Every term and rule found in one text, with their places. Slower than `check`: for people and tests. */
  explain(text: string): Explanation;
  /** Steps that the last `check` took: they grow with the length of the texts, not with their content. */
  readonly lastSteps: number;
}

/** Units read between two looks at the verdict, and in one turn of `checkInTurns`: below a millisecond of work. */
export const TURN_UNITS = 65_536;
/** Words are numbered from check to check; a fresh run starts again long before the numbers pass 2^31. */
const WORDS_MAX = 2 ** 30;

/** Compiles a validated pack, once per process: the shipped one takes a tenth of a second or two. Throws `RangeError` when it is too large. */
export function compilePack(pack: Pack): Screen {
  const compiled = compileTables(pack);
  let run = new Run(compiled);
  let lastSteps = 0;

  function verdictOf(finished: Run): Verdict | null {
    if (finished.rule === null) return null;
    const rule = pack.rules[finished.rule]!;
    return { rule: rule.id, code: rule.code };
  }

  return {
    policyVersion: pack.version,
    digest: pack.digest,
    check(texts) {
      if (run.word > WORDS_MAX) run = new Run(compiled);
      run.begin();
      for (const text of texts) {
        for (let at = 0; at < text.length && run.rule === null;) {
          at = run.read(text, at, Math.min(text.length, at + TURN_UNITS));
        }
        run.endText(text);
        if (run.rule !== null) break;
      }
      run.finish();
      lastSteps = run.steps;
      return verdictOf(run);
    },
    *checkInTurns(texts) {
      // A run of its own, because other checks happen between the turns.
      const own = new Run(compiled);
      own.begin();
      let left = TURN_UNITS;
      for (const text of texts) {
        for (let at = 0; at < text.length && own.rule === null;) {
          const reached = own.read(text, at, Math.min(text.length, at + left));
          left -= reached - at;
          at = reached;
          if (left > 0) continue;
          yield;
          left = TURN_UNITS;
        }
        own.endText(text);
        if (own.rule !== null) break;
      }
      own.finish();
      return verdictOf(own);
    },
    explain: (text) => explainText(compiled, text),
    get lastSteps() {
      return lastSteps;
    },
  };
}

/** An example that a pack does not live up to. */
interface FailedExample {
  /** E.g. `rules[3].positive[0]`. */
  path: string;
  reason: string;
}

/** Every example of the pack that fails: a positive that its rule does not find, a negative that any rule blocks. */
export function failedExamples(pack: Pack, screen: Screen): FailedExample[] {
  return pack.rules.flatMap((rule, i) => {
    const missed = rule.positive.flatMap((text, j) =>
      screen.explain(text).rules.some((hit) => hit.rule === rule.id)
        ? []
        : [{ path: `rules[${i}].positive[${j}]`, reason: `${rule.id} does not find this example` }],
    );
    const wrong = rule.negative.flatMap((text, j) => {
      const verdict = screen.check([text]);
      const reason = `${verdict?.rule} blocks this example of ${rule.id}`;
      return verdict === null ? [] : [{ path: `rules[${i}].negative[${j}]`, reason }];
    });
    return [...missed, ...wrong];
  });
}
