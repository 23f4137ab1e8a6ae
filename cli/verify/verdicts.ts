import { plain } from '#shared/kernel/plain-text.ts';
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

/** The first line of a verdict: one that something is wrong names the file, and the place in it where there is one. */
export function headline(
  verdict: Verdict,
  message: string,
  { file, place }: { file: string; place?: string | undefined },
): string {
  const where = verdict === 'bad' ? [file, ...(place === undefined ? [] : [place])] : [];
  return `${WORDS[verdict]}  ${plain([...where, message].join(': '))}\n`;
}
