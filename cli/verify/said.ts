import { QUANTITY_TITLES, scaleFor } from '#shared/methodology/readable.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import { fieldLines, type Row } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import type { Verdict } from './judge-pack.ts';
import { WORDS } from './verdicts.ts';

/** A verdict for people, from which terminals and pages make theirs. */
export interface Said {
  verdict: Verdict;
  /** What was looked at, or what is wrong and where. */
  headline: string;
  /** What a person looks for, each beside its name. */
  facts: Row;
  /** What documents state besides, to the last digit: behind a fold. */
  details: Row;
  /** What it shows, and what not. Empty where it shows nothing. */
  closing: readonly string[];
}

/** The headline of a verdict: one that something is wrong names the file, and the place in it where there is one. */
export function headline(
  verdict: Verdict,
  message: string,
  { file, place }: { file: string; place?: string | undefined },
): string {
  const where = verdict === 'bad' ? [file, ...(place === undefined ? [] : [place])] : [];
  return plain([...where, message].join(': '));
}

/** A verdict of which nothing but a sentence is to be said. */
export function saidAlone(verdict: Verdict, sentence: string): Said {
  return { verdict, headline: sentence, facts: {}, details: {}, closing: [] };
}

/** A verdict as a terminal shows it. */
export function written(
  { verdict, headline: sentence, facts, details, closing }: Said,
  hasDetails = false,
): string {
  const parts = [
    `${WORDS[verdict]}  ${sentence}\n`,
    Object.keys(facts).length === 0 ? '' : fieldLines(facts),
    hasDetails && Object.keys(details).length > 0 ? fieldLines(details) : '',
    closing.map((line) => `${line}\n`).join(''),
  ];
  return parts.filter((part) => part !== '').join('\n');
}

/** An amount as a document states it. */
export interface StatedAmount {
  quantityKind: QuantityName;
  unit: string;
  value: string;
  lower: string;
  upper: string;
}

/** Amounts in the words and units of the page of a receipt. */
export function readableAmounts(amounts: readonly StatedAmount[]): Row {
  return Object.fromEntries(
    amounts.map(({ quantityKind, value, lower, upper }) => {
      const { unit, text } = scaleFor(quantityKind, value);
      const amount = `${text(value)} ${unit} [${text(lower)}–${text(upper)}]`;
      return [QUANTITY_TITLES[quantityKind].toLowerCase(), amount];
    }),
  );
}

/** The same to the last digit. */
export function exactAmounts(amounts: readonly StatedAmount[]): Row {
  return Object.fromEntries(
    amounts.map(({ quantityKind, value, unit, lower, upper }) => [
      quantityKind,
      `${value} ${unit} (${lower} to ${upper})`,
    ]),
  );
}
