import { LineageContradiction } from '#shared/lineage/facts.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { isReproduced, recompute } from '#shared/methodology/recompute.ts';
import type { LineageSources } from '#shared/lineage/of-receipt.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';

/** Methodologies by which figures are computed again. */
export type LineageMethodologies = Omit<LineageSources, 'derivation'>;

/** Whether the figures of a measurement are those that what it names gives. */
export type JudgedFigures =
  | { kind: 'same' }
  /** The methodology is of another release. */
  | { kind: 'unknown' }
  /** A sentence on where they differ. */
  | { kind: 'different'; message: string };

/** Computes the figures of a measurement again from what it names, and compares every character. */
export function judgeFigures(
  measurement: WholeMeasurement,
  methodologies: LineageMethodologies,
): JudgedFigures {
  const { name, version } = measurement.hadPlan;
  const methodology = methodologies.methodology(name, version);
  if (methodology === undefined) return { kind: 'unknown' };
  const stated = statedMeasurement(measurement);
  try {
    const input = rebuildInput(stated.inputs);
    if (isReproduced(input, methodology, stated)) return { kind: 'same' };
    const [difference] = recompute(input, methodology, stated).differences;
    // In another order the same is said.
    if (difference === undefined) return { kind: 'same' };
    const message = `Its numbers do not follow from what it names (${difference.path}).`;
    return { kind: 'different', message };
  } catch (error) {
    if (!isContradiction(error)) throw error;
    return { kind: 'different', message: `What it names gives no estimate: ${error.message}.` };
  }
}

/** Whether an error says that a receipt, or what it names, is at fault. */
export function isContradiction(error: unknown): error is Error {
  return (
    error instanceof LineageContradiction ||
    error instanceof MalformedData ||
    error instanceof MethodologyFailure
  );
}
