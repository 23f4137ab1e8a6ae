import type { DegradationStage } from './document.ts';

const RECALCULATED = 'it will be recalculated, and a new receipt will revise this one';

/** For each stage what failed and what happens next, in one sentence for a person. */
const SENTENCES: Record<DegradationStage, string> = {
  model: `The size of this model is not known well enough to estimate the footprint; ${RECALCULATED}.`,
  factors: `A factor that the footprint estimate needs is missing or unusable; ${RECALCULATED}.`,
  computation: `The footprint estimate failed while it was computed; ${RECALCULATED}.`,
  input: `The footprint estimate could not use what is known about this request; ${RECALCULATED}.`,
  timeout: `The footprint estimate did not finish in time; ${RECALCULATED}.`,
  issuance:
    'The answer was ready before its receipt, so this one is not signed; the signed receipt will appear under the same id.',
};

/** The `explanation` of a degraded receipt. */
export function explain(stage: DegradationStage): string {
  return SENTENCES[stage];
}
