import { buildLineage } from './build.ts';
import type { LineageFacts, RecordedFacts } from './facts.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  type Derivations,
  NO_DERIVATIONS,
  type WholeMeasurement,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedInputs } from '#shared/receipts/reread.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';

/** Media type of a lineage document. */
export const LINEAGE_TYPE = 'application/ld+json';

/** What a lineage is looked up in. */
export interface LineageSources extends Pick<Methodologies, 'methodology'> {
  /** Derivation records that receipts name; none when absent. */
  derivation?: Derivations;
}

/**
 * The lineage document of a receipt, as canonical JSON (RFC 8785). Pure: the same receipt and facts give the same
 * bytes, today and with any later release.
 * @throws LineageContradiction when the facts, or what the methodology computes, are not what the receipt pins;
 *   MalformedData when the receipt cites a methodology that was never released, or a record is not there
 */
export function lineageOf(
  sources: LineageSources,
  receipt: Uint8Array,
  facts: RecordedFacts,
): string {
  const { document } = parseReceipt(receipt);
  const { measurement: stated } = document;
  const more =
    stated === undefined
      ? {}
      : measured(sources, wholeMeasurement(stated, sources.derivation ?? NO_DERIVATIONS));
  const lineage = buildLineage({ ...facts, bytes: receipt, document, ...more });
  return canonicalJson(lineage);
}

function measured(
  { methodology: find }: LineageSources,
  measurement: WholeMeasurement,
): Pick<LineageFacts, 'measurement' | 'derivation'> {
  const { name, version } = measurement.hadPlan;
  const methodology = find(name, version);
  if (methodology === undefined) {
    throw new MalformedData(
      'wrong_value',
      'hadPlan',
      `names ${name} ${version}, which was never released`,
    );
  }
  const derivation = methodology.explain(rebuildInput(statedInputs(measurement)));
  return { measurement, derivation };
}
