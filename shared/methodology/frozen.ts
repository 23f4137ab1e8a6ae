/**
 * The digests of everything that a receipt may cite. Once released, a factor set and a methodology never change:
 * a correction is a new version beside the old one, and a line is added here, never edited.
 */
export interface FrozenFactorSet {
  readonly version: string;
  /** base64url SHA-256 of the canonical JSON. */
  readonly digest: string;
}

export interface FrozenMethodology {
  readonly id: string;
  readonly version: string;
  /** base64url SHA-256 of the document's bytes. */
  readonly digest: string;
  /** Version of the factor set that it computes with, or takes its citations from. */
  readonly factorSet: string;
}

export const FROZEN_FACTOR_SETS: readonly FrozenFactorSet[] = [
  { version: '2026-10', digest: 'utJr4K-KXUduuWCRclDfcsfG6V5jSmgktoF3ExmwS1Q' },
];

/** Oldest first within an id. */
export const FROZEN_METHODOLOGIES: readonly FrozenMethodology[] = [
  {
    id: 'docket-1',
    version: '1.0.0',
    digest: 'VcMvPxWRD0J2yk4GbsdznCEXkLLIBMw84oASoXHKq8w',
    factorSet: '2026-10',
  },
  {
    id: 'ecologits-0.11.2',
    version: '1.0.0',
    digest: 'vq24KkqvFV0So6Ps7lPtXHZIPzvenZNEGwuURjo0pWo',
    factorSet: '2026-10',
  },
];
