import { factorSetsOf } from '#shared/methodology/factor-set-file.ts';
import { type Methodologies, methodologiesOver } from '#shared/methodology/releases.ts';

/** `release.json` beside the verifier for browsers: what of a release receipts and packs are compared with. */
export interface ReleaseFiles {
  /** Texts of the factor sets by the names of their files. */
  factorSets: Readonly<Record<string, string>>;
  /** SHA-256 (hex) of verify.py. */
  script: string;
}

/** Fetches it. */
export async function fetchRelease(): Promise<{
  methodologies: Methodologies;
  script: string;
}> {
  const response = await fetch(new URL('release.json', import.meta.url));
  if (!response.ok) throw new Error(`release.json cannot be fetched: ${response.status}.`);
  const { factorSets, script } = (await response.json()) as ReleaseFiles;
  const utf8 = new TextEncoder();
  const sets = Object.entries(factorSets).map(([name, text]) => ({
    name,
    bytes: utf8.encode(text),
  }));
  return { methodologies: methodologiesOver(factorSetsOf(sets)), script };
}
