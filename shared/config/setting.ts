import type { Parser } from './parsers.ts';

/** The text of a default: fixed, or made from another setting's text. */
export type DefaultText = string | ((textOf: (name: string) => string) => string);

export interface Setting<T> {
  /** The variable's name. */
  readonly name: string;
  readonly parse: Parser<T>;
  /** Absent when the setting may stay unset, or must be set. */
  readonly fallback?: DefaultText;
  /** Masked wherever settings are shown. */
  readonly secret: boolean;
  /** One sentence for the operator. */
  readonly description: string;
}

/** A setting with a default. */
export function setting<T>(
  name: string,
  parse: Parser<T>,
  fallback: DefaultText,
  description: string,
): Setting<T> {
  return { name, parse, fallback, secret: false, description };
}

/** A setting that may stay unset. */
export function optional<T>(
  name: string,
  parse: Parser<T>,
  description: string,
): Setting<T | undefined> {
  return { name, parse, secret: false, description };
}

/** A credential: masked wherever settings are shown, kept apart from the others. */
export function secret(
  name: string,
  parse: Parser<string>,
  description: string,
): Setting<string | undefined> {
  return { name, parse, secret: true, description };
}
