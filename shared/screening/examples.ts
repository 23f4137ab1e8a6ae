import type { Pack } from './pack.ts';
import type { Screen } from './screen.ts';

/** An example that a pack does not live up to. */
export interface FailedExample {
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
