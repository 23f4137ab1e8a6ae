import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';

/** For so long a command line that has asked waits to be allowed: a person goes to a browser, signs in and types a code. */
export const ASKED_MS = 10 * MINUTE_MS;

/** Consonants, so that no code is a word (RFC 8628, 6.1). */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ';
export const CODE_LENGTH = 8;
const CODE = new RegExp(`^[${LETTERS}]{${CODE_LENGTH}}$`);

/** How an operator key begins, so that one that stands where it should not is known by its looks. */
export const OPERATOR_KEY_PREFIX = 'dko_';
/** Longer than a quarter no program acts unless a person allows it again. */
export const KEY_DAYS_MAX = 90;
const KEY_NAME_LENGTH_MAX = 100;

/** What an operator key is asked for as; a command line has none. */
export interface OperatorKeyTerms {
  name: string;
  days: number;
}

/** A command line, or a program with an operator key, that asks to act in the name of a person, or does. */
export interface CommandLine {
  /** Eight letters, which name it on pages. */
  code: string;
  /** The user and the machine that it runs as: `os:<user>@<host>`. */
  place: string;
  /** Epoch milliseconds. */
  askedAt: number;
  until: number;
  /** Null while no person has allowed it. */
  allowedAt: number | null;
  /** Of an operator key; null where it is a command line that acts. */
  key: OperatorKeyTerms | null;
}

/** @throws Fault `invalid_name`, `invalid_days` */
export function checkKeyTerms({ name, days }: OperatorKeyTerms): OperatorKeyTerms {
  if (!isPrintable(name, KEY_NAME_LENGTH_MAX))
    throw invalidParam(
      'name',
      `The name of a key is one line of 1 to ${KEY_NAME_LENGTH_MAX} printable characters.`,
    );
  if (!Number.isInteger(days) || days < 1 || days > KEY_DAYS_MAX)
    throw invalidParam('days', `A key holds for 1 to ${KEY_DAYS_MAX} whole days.`);
  return { name, days };
}

/** The letters of a code, made from as many random numbers below 256 · 20. */
export function codeFrom(numbers: Iterable<number>): string {
  return Array.from(numbers, (number) => LETTERS[number % LETTERS.length]).join('');
}

/** A code as a person reads it: `BCDF-GHJK`. */
export function spacedCode(code: string): string {
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
}

/** An operator key as logs name it: a person may have two of one name. */
export function operatorKeyLabel(name: string, code: string): string {
  return `${name} ${spacedCode(code)}`;
}

/** A code as a person has typed it, in any case, with or without its hyphen; null for what is none. */
export function readCode(text: string): string | null {
  const letters = text.toUpperCase().replaceAll(/[\s-]/g, '');
  return CODE.test(letters) ? letters : null;
}
