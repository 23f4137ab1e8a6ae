import { multihashOf, multihashOfContent } from '#shared/kernel/multihash.ts';
import { digestOf, type Json } from '#shared/kernel/canonical-json.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import type { InputDocument, ReceiptDocument } from '#shared/receipts/document.ts';
import { canonicalValue } from './canonical-text.ts';

/** JSON from anyone: a member that is not there is undefined, as is one of what has no members. */
type Loose = Json | undefined;

const LINEAGE_CONTEXT = /\/contexts\/docket-lineage-[0-9a-f]{64}\.jsonld$/;

/** A lineage document that cannot be made again here. */
export interface LineageStatements {
  /** Address of the context that it cites; it is one of lineage documents. */
  context: string;
  /** The place where document and receipt disagree, e.g. `measurement.hadPlan`; undefined when they agree. */
  contradiction: string | undefined;
}

/**
 * Compares the members that a lineage document repeats of its receipt, and the records that the receipt names by
 * digest. The steps between them are not computed. Null when it is no lineage document in its canonical form.
 */
export function readStatements(
  text: string,
  receipt: { bytes: Uint8Array; document: ReceiptDocument },
  measurement: WholeMeasurement,
): LineageStatements | null {
  const lineage = canonicalValue(text);
  const context = member(lineage, '@context');
  if (typeof context !== 'string' || !LINEAGE_CONTEXT.test(context)) return null;
  const about = { id: receipt.document.id, digest: multihashOfContent(receipt.bytes) };
  const measured = member(lineage, 'measurement');
  const contradiction =
    unlike(member(lineage, 'about'), about, 'about') ?? againstMeasurement(measured, measurement);
  return { context, contradiction };
}

function againstMeasurement(
  measured: Loose,
  { stated, hadPlan, used }: WholeMeasurement,
): string | undefined {
  const { id, dataQuality, result } = stated;
  const listed = member(measured, 'used');
  const generated = member(measured, 'generated');
  return (
    unlike(measured, { id, dataQuality }, 'measurement') ??
    unlike(member(measured, 'hadPlan'), { ...hadPlan }, 'measurement.hadPlan') ??
    (lengthOf(listed) === used.length ? undefined : 'measurement.used') ??
    used.map((input, i) => againstInput(member(listed, i), input)).find(isText) ??
    (lengthOf(generated) === result.length ? undefined : 'measurement.generated') ??
    result
      .map(({ quantityKind, unit, value, lower, upper }, i) => {
        const wanted = { quantityKind, unit, value, lower, upper };
        return unlike(member(generated, i), wanted, `measurement.generated.${quantityKind}`);
      })
      .find(isText)
  );
}

/** The record in full is the one whose digest is signed. */
function againstInput(
  node: Loose,
  { name, digest, record: carried }: InputDocument,
): string | undefined {
  const record = member(node, 'record');
  const hashed = record === undefined ? '' : multihashOf(digestOf(record), 'record');
  if (hashed !== digest) return `measurement.used.${name}`;
  return unlike(node, { name, digest, carried: carried !== undefined }, `measurement.used.${name}`);
}

/** The path, when one of these members has another value. */
function unlike(
  node: Loose,
  wanted: Readonly<Record<string, string | boolean>>,
  path: string,
): string | undefined {
  const same = Object.entries(wanted).every(([name, value]) => member(node, name) === value);
  return same ? undefined : path;
}

function member(value: Loose, name: string | number): Loose {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, name) ? (value as Record<string | number, Json>)[name] : undefined;
}

function lengthOf(value: Loose): number | undefined {
  return Array.isArray(value) ? value.length : undefined;
}

function isText(value: string | undefined): value is string {
  return value !== undefined;
}
