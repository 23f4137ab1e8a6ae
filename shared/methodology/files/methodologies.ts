import type { MethodologyDocument } from '../document.ts';
import { createMethodology } from '../docket-1.ts';
import { docket1Document } from '../docket-1-document.ts';
import { ecologitsDocument } from '../ecologits-document.ts';
import type { FactorSet } from '../factor-set.ts';
import type { Methodology } from '../methodology.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { FROZEN_METHODOLOGIES, type FrozenMethodology } from '../frozen.ts';
import { loadFactorSet } from './load.ts';

/** The profile that receipts use unless told otherwise. */
export const DEFAULT_METHODOLOGY = 'docket-1';

/** A line of `GET /methodologies`. */
interface MethodologySummary {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly digest: string;
}

/** Every methodology that was ever released, read and checked. */
export interface Methodologies {
  /** Computes what new receipts state: the newest version of the default profile. */
  readonly current: Methodology;
  listMethodologies(): readonly MethodologySummary[];
  /** The exact bytes that a receipt's digest is of; undefined when there never was such a version. */
  methodologyDocument(id: string, version: string): MethodologyDocument | undefined;
  /** A version that can compute receipts; undefined for one that cannot, or does not exist. */
  methodology(id: string, version: string): Methodology | undefined;
}

/**
 * Reads all methodologies at start. Throws MalformedData when data or code would give a document other than the
 * one that was released: a receipt must never cite a document that cannot be fetched.
 */
export function loadMethodologies(): Methodologies {
  const sets = new Map<string, FactorSet>();
  const documents = FROZEN_METHODOLOGIES.map((frozen) => {
    const set = sets.get(frozen.factorSet) ?? loadFactorSet(frozen.factorSet);
    sets.set(frozen.factorSet, set);
    return released(frozen, set);
  });
  const computing = FROZEN_METHODOLOGIES.filter(({ id }) => id === DEFAULT_METHODOLOGY).map(
    ({ factorSet }) => createMethodology(sets.get(factorSet)!),
  );
  const current = computing.at(-1);
  if (current === undefined)
    throw new MalformedData('wrong_value', '', `${DEFAULT_METHODOLOGY} was never released`);
  return {
    current,
    listMethodologies: () =>
      documents.map(({ id, version, title, digest }) => ({ id, version, title, digest })),
    methodologyDocument: (id, version) =>
      documents.find((document) => document.id === id && document.version === version),
    methodology: (id, version) =>
      computing.find((methodology) => methodology.id === id && methodology.version === version),
  };
}

function released(frozen: FrozenMethodology, set: FactorSet): MethodologyDocument {
  const document =
    frozen.id === DEFAULT_METHODOLOGY ? docket1Document(set) : ecologitsDocument(set.sources);
  const { id, version, digest } = document;
  if (id !== frozen.id || version !== frozen.version || digest !== frozen.digest) {
    throw new MalformedData(
      'wrong_value',
      '',
      `methodology ${frozen.id} ${frozen.version} is not what was released: ${digest}`,
    );
  }
  return document;
}
