/**
 * The digests of everything that a receipt may cite. Once frozen (docs/compatibility.md), a factor set and a methodology
 * never change: a correction is a new version beside the old one, and a line is added here, never edited. A factor set that is put
 * beside them later needs no line: the name of its file pins it, and every receipt pins the document that it is in.
 */
export interface FrozenFactorSet {
  readonly version: string;
  /** base64url SHA-256 of the canonical JSON, which the name of its file holds in hex. */
  readonly digest: string;
}

export interface FrozenMethodology {
  readonly id: string;
  readonly version: string;
  /** base64url SHA-256 of the document's bytes. */
  readonly digest: string;
}

export const FROZEN_FACTOR_SETS: readonly FrozenFactorSet[] = [
  { version: '2026-11', digest: 'CrU_fTf3gLI2-JMOApm_WJHGtm181mOnSbjxukiDlIM' },
];

/** Oldest first within an id. */
export const FROZEN_METHODOLOGIES: readonly FrozenMethodology[] = [
  {
    id: 'docket-1',
    version: '1.0.0',
    digest: 'cos28WbbpcI7TvWKreEra87vZFEh7FQHsFzmmdvUq14',
  },
  {
    id: 'ecologits-0.11.2',
    version: '1.0.0',
    digest: 'vq24KkqvFV0So6Ps7lPtXHZIPzvenZNEGwuURjo0pWo',
  },
];
