import type { Verdict } from './judge-pack.ts';

/** Verdicts by their exit codes; verify.py has the same. */
export const EXIT_CODES: Readonly<Record<Verdict, number>> = {
  good: 0,
  bad: 1,
  cannot_judge: 2,
  intact: 3,
};

/** The words with which a verdict begins. */
export const WORDS: Readonly<Record<Verdict, string>> = {
  good: 'GOOD',
  bad: 'BAD',
  cannot_judge: 'CANNOT JUDGE',
  intact: 'INTACT, ISSUER UNKNOWN',
};
