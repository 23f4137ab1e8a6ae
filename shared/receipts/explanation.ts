import type { MethodologyFailure } from '#shared/methodology/measurement.ts';

const RECALCULATED = 'it will be recalculated, and a new receipt will revise this one';

/** For each stage what failed and what happens next, in one sentence for a person. */
const SENTENCES: Record<MethodologyFailure['stage'], string> = {
  model: `The size of this model is not known well enough to estimate the footprint; ${RECALCULATED}.`,
  factors: `A factor that the footprint estimate needs is missing or unusable; ${RECALCULATED}.`,
  computation: `The footprint estimate failed while it was computed; ${RECALCULATED}.`,
  input: `The footprint estimate could not use what is known about this request; ${RECALCULATED}.`,
  timeout: `The footprint estimate did not finish in time; ${RECALCULATED}.`,
};

const USAGE_UNKNOWN =
  'How many tokens this request used is not known, so there is no estimate of its footprint.';

/** The `explanation` of a degraded receipt. */
export function explain({ stage, code }: Pick<MethodologyFailure, 'stage' | 'code'>): string {
  return code === 'usage_unknown' ? USAGE_UNKNOWN : SENTENCES[stage];
}
