import { buildLineage } from './build.ts';
import type { RecordedFacts } from './facts.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import type { Derivation } from '#shared/methodology/derivation.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import type { MeasurementDocument } from '#shared/receipts/document.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedInputs } from '#shared/receipts/reread.ts';
import type { Methodologies } from '#shared/methodology/files/methodologies.ts';

/** Media type of a lineage document. */
export const LINEAGE_TYPE = 'application/ld+json';

/**
 * The lineage document of a receipt, as canonical JSON (RFC 8785). Pure: the same receipt and facts give the same
 * bytes, today and with any later release.
 * @throws LineageContradiction when the facts, or what the methodology computes, are not what the receipt pins;
 *   MalformedData when the receipt cites a methodology that was never released, or lacks a record
 */
export function lineageOf(
  methodologies: Pick<Methodologies, 'methodology'>,
  receipt: Uint8Array,
  facts: RecordedFacts,
): string {
  const { document } = parseReceipt(receipt);
  const { measurement } = document;
  const lineage = buildLineage({
    ...facts,
    bytes: receipt,
    document,
    ...(measurement === undefined ? {} : { derivation: derive(methodologies, measurement) }),
  });
  return canonicalJson(lineage);
}

function derive(
  methodologies: Pick<Methodologies, 'methodology'>,
  measurement: MeasurementDocument,
): Derivation {
  const { name, version } = measurement.hadPlan;
  const methodology = methodologies.methodology(name, version);
  if (methodology === undefined) {
    throw new MalformedData(
      'wrong_value',
      'hadPlan',
      `names ${name} ${version}, which was never released`,
    );
  }
  return methodology.explain(rebuildInput(statedInputs(measurement)));
}
