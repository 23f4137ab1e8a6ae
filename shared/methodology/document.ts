import { canonicalJson, digestOfText, type JsonObject } from '#shared/kernel/canonical-json.ts';
import type { Constant, Formula } from './formula.ts';
import type { Source } from './factor-set.ts';

/** A published, frozen methodology: what `GET /methodologies/{id}/{version}` answers, byte for byte. */
export interface MethodologyDocument {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  /** base64url SHA-256 of `text`. */
  readonly digest: string;
  /** Canonical JSON (RFC 8785). */
  readonly text: string;
}

/** What the document of any methodology says. */
export interface MethodologyContent {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly summary: string;
  readonly arithmetic: readonly string[];
  readonly constants: Readonly<Record<string, Constant>>;
  readonly formulas: readonly Formula[];
  readonly limits: readonly string[];
  readonly sources: readonly Source[];
  readonly changelog: readonly {
    readonly version: string;
    readonly date: string;
    readonly change: string;
  }[];
  /** What only this methodology has: uncertainty, data quality, factor set. */
  readonly further?: JsonObject;
}

/** How a formula in a document is to be read; the same for all methodologies. */
const FORMULA_LANGUAGE =
  'Expressions over symbols and numbers with + - * / ^ (power) and parentheses; functions exp, ln, sqrt, ceil, min and power_of_two_from (the smallest power of two that is at least its argument). Evaluated from left to right in IEEE 754 binary64.';

/** Turns content into the document's bytes and digest. */
export function methodologyDocumentOf(content: MethodologyContent): MethodologyDocument {
  const { further = {}, ...rest } = content;
  const json = {
    schema: 'docket-methodology/1',
    formula_language: FORMULA_LANGUAGE,
    ...rest,
    ...further,
  };
  const text = canonicalJson(json);
  return {
    id: content.id,
    version: content.version,
    title: content.title,
    digest: digestOfText(text),
    text,
  };
}

/** The sources that constants cite, from a table, in the order of the table. */
export function citedSources(
  constants: Readonly<Record<string, Constant>>,
  table: readonly Source[],
): readonly Source[] {
  const cited = new Set(Object.values(constants).flatMap(({ sources }) => sources));
  return table.filter(({ id }) => cited.has(id));
}
