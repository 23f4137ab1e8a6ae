import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PageError } from './page-error.ts';
import { type IdPrefix, isId } from '#shared/kernel/ids.ts';
import { printable } from '#shared/kernel/plain-text.ts';

/** The largest form of ours has a field for each model of a catalogue, or three for each of a hundred owners and directors. */
const FIELDS_MAX = 1_000;

/** Of what a person says about an act: with a beginning of ours it fits into a reason of the audit log. */
export const NOTE_LENGTH_MAX = 400;

/** Fields of a form; each is read as one text. */
export class Form {
  readonly #fields: URLSearchParams;

  constructor(fields = new URLSearchParams()) {
    this.#fields = fields;
  }

  /** A field without the white space around it; empty when it is not there. */
  text(name: string): string {
    return this.#fields.get(name)?.trim() ?? '';
  }

  /** A field exactly as it was typed: a password. */
  exact(name: string): string {
    return this.#fields.get(name) ?? '';
  }

  all(name: string): string[] {
    return this.#fields.getAll(name);
  }

  /** What its person says about an act, on one line: it is kept, and shown to others. */
  note(name: string, lengthMax: number = NOTE_LENGTH_MAX): string {
    return printable(this.text(name).slice(0, lengthMax));
  }

  /** Every field as it came, to be sent again. */
  entries(): [name: string, value: string][] {
    return [...this.#fields];
  }
}

/** The field that brings back what its person has shown: a password or a code. */
export const CONFIRMING_FIELD = 'confirming-password';

/** The field that brings a passkey back in its place. */
export const PASSKEY_FIELD = 'confirming-passkey';

/** By what a person shows that it is they. */
export type Proof = 'password' | 'code' | 'passkey' | 'single sign-on';

/** The person behind a form is asked to show that it is they; the form is kept, and sent again with that. */
export class ConfirmationNeeded extends Error {
  readonly form: Form;
  readonly asks: Proof;
  /** Whether the person may show a passkey in its place. */
  readonly takesPasskey: boolean;
  readonly problem: string | undefined;

  constructor(form: Form, asks: Proof, takesPasskey: boolean, problem?: string) {
    super(problem);
    this.name = 'ConfirmationNeeded';
    this.form = form;
    this.asks = asks;
    this.takesPasskey = takesPasskey;
    this.problem = problem;
  }
}

/** The longest that addresses of ours hold: a place to go back to, or the token of an e-mail. */
export const ASKED_CHARS_MAX = 2_048;

/** A parameter of the address, without what no name has; empty when it is not there, or there twice. */
export function askedFor({ query }: FastifyRequest, name: string): string {
  const value = (query as Record<string, unknown>)[name];
  if (typeof value !== 'string') return '';
  return value
    .slice(0, ASKED_CHARS_MAX)
    .replaceAll(/\p{Cc}/gu, '')
    .trim();
}

/** The id in the address after which a list goes on. An address that was changed by hand shows the beginning. */
export function askedAfter(request: FastifyRequest, prefix: IdPrefix): string | undefined {
  const asked = askedFor(request, 'after');
  return isId(prefix, asked) ? asked : undefined;
}

/**
 * What the page after an act says was done: the words for the name that the address has.
 * @param stands whether it still is so: a page is read again after the act was undone elsewhere
 */
export function doneOf(
  request: FastifyRequest,
  words: Readonly<Record<string, string>>,
  stands: (done: string) => boolean = () => true,
): { done?: string } {
  const asked = askedFor(request, 'done');
  return Object.hasOwn(words, asked) && stands(asked) ? { done: words[asked]! } : {};
}

/** The beginning of a UTC day, in epoch milliseconds; undefined for what is none. */
export function askedForDay(text: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // A thirty-first of February is read as a day of March.
  const isDay = at >= 0 && new Date(at).toISOString().startsWith(text);
  return isDay ? at : undefined;
}

function unreadable(why: string): PageError {
  return new PageError(400, 'This could not be read', why);
}

/**
 * Forms are the only bodies that pages take. What has more fields than any of ours is not parsed: a field costs far more than
 * the two bytes that it takes.
 */
export function takeForms(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    (_request, body, done) => {
      try {
        done(null, formIn(body as string));
      } catch (error) {
        done(error as Error);
      }
    },
  );
}

/** @throws PageError for what no form of ours has */
export function formIn(body: string): Form {
  // No store holds a NUL, and no person types one.
  if (/%00|\0/.test(body)) throw unreadable('The form contains a NUL character.');
  if (body.split('&', FIELDS_MAX + 1).length > FIELDS_MAX)
    throw unreadable('The form has more fields than it should.');
  return new Form(new URLSearchParams(body));
}
