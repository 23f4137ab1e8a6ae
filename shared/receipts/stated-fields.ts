import { isDisguised } from '#shared/kernel/characters.ts';
import { RECORD_FIELDS } from '#shared/kernel/inference.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { digestIn, multihashOf } from '#shared/kernel/multihash.ts';
import { timeText } from '#shared/kernel/time.ts';
import { type InferenceDocument, TEXT_MAX } from './document.ts';
import { FOREIGN_ID } from './fields.ts';
import { saltMultibase } from './salt.ts';

/** How values of a record are written on a receipt, and read back. What is written as undefined is left off. */
interface Form {
  write: (value: never, path: string) => unknown;
  read: (stated: never) => unknown;
}

const same = <V>(value: V): V => value;
const FOREIGN = new RegExp(FOREIGN_ID.pattern);

const FORMS = {
  count: { write: count, read: same },
  digest: { write: multihashOf, read: digestIn },
  name: { write: same, read: same },
  salt: { write: saltMultibase, read: (stated: string) => stated.slice(1) },
  text: { write: (text: string) => (text === '' ? undefined : bounded(text)), read: same },
  // What an upstream says must not cost the caller its receipt: where it cannot stand there, it is left off.
  foreignId: { write: (id: string) => (FOREIGN.test(id) ? id : undefined), read: same },
  foreignName: { write: shownName, read: same },
  time: { write: timeText, read: Date.parse },
} as const satisfies Record<string, Form>;

type Fields = typeof RECORD_FIELDS;
type NameOf<F extends keyof Fields> = Fields[F] extends { as: infer As } ? As : F;
/** The fields of a receipt that state one of a record. */
export type StatedField = {
  [F in keyof Fields]: Fields[F] extends { form: string } ? NameOf<F> : never;
}[keyof Fields] &
  keyof InferenceDocument;

/** A field of a record that a receipt states. */
export interface Stated {
  field: keyof Fields;
  as: StatedField;
  form: Form;
  ifKnown: boolean;
  ifRan: boolean;
  ifCalled: boolean;
}

/** Those that a receipt states one by one. */
export const STATED: readonly Stated[] = Object.entries(RECORD_FIELDS).flatMap(([name, row]) => {
  if (!('form' in row)) return [];
  const field = name as keyof Fields;
  const as = ('as' in row ? row.as : field) as StatedField;
  const form = FORMS[row.form];
  const has = (flag: 'ifKnown' | 'ifRan' | 'ifCalled'): boolean => flag in row;
  return [
    { field, as, form, ifKnown: has('ifKnown'), ifRan: has('ifRan'), ifCalled: has('ifCalled') },
  ];
});

function shownName(name: string): string | undefined {
  const cut = bounded(name);
  return isDisguised(cut) ? undefined : cut;
}

/** Words that are not ours (an upstream's) are cut to fit: they may not cost the caller its receipt. */
export function bounded(text: string, lengthMax: number = TEXT_MAX): string {
  return text.length <= lengthMax && text.isWellFormed()
    ? text
    : text.slice(0, lengthMax).toWellFormed();
}

/** A whole number. @throws MalformedData when it is none */
export function count(value: number, path: string): number {
  if (Number.isSafeInteger(value) && value >= 0) return value === 0 ? 0 : value;
  throw new MalformedData('not_an_integer', path, 'must be a whole number, at least 0');
}
