/** The formulas of docket-1 in each of its revisions, with the factor set that each was released with. Oldest first. */
export const DOCKET_REVISIONS = [{ revision: '1.0', releasedWith: '2026-11' }] as const;
export type DocketRevision = (typeof DOCKET_REVISIONS)[number]['revision'];

/**
 * The version of docket-1 that a revision is with a factor set: `1.0.0` with the one that it was released with, and
 * `1.0.0-2026-12` with another, so that a set which comes later never changes what an earlier version means.
 */
export function versionOf(revision: DocketRevision, factorSet: string): string {
  const released = DOCKET_REVISIONS.find((each) => each.revision === revision)!.releasedWith;
  return factorSet === released ? `${revision}.0` : `${revision}.0-${factorSet}`;
}
