import type { Static, TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import { dotted, findFlaw } from './flaw.ts';
import { type MalformedCode, MalformedData } from './malformed-data.ts';

/** Gives an untrusted value its type, or throws MalformedData with the first place where it does not fit. */
export type Shape<T> = (value: unknown) => T;

const CODES = {
  missing: 'missing_field',
  unknown: 'unknown_field',
  wrong: 'wrong_value',
} as const satisfies Record<string, MalformedCode>;

/** The shape that a schema describes. It is compiled when it is first used: few processes read every kind of document. */
export function shapeOf<S extends TSchema>(schema: S): Shape<Static<S>> {
  let compiled: { Check(value: unknown): boolean } | undefined;
  return (value) => {
    compiled ??= Compile(schema);
    if (compiled.Check(value)) return value as Static<S>;
    const flaw = findFlaw(schema, value);
    if (flaw === null) throw new MalformedData('wrong_value', '', 'is not of its form');
    const path = dotted(flaw.path);
    const rule = flaw.kind === 'missing' ? 'is missing' : `must be ${flaw.wanted}`;
    throw new MalformedData(CODES[flaw.kind], path, rule);
  };
}
