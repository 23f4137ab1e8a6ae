import type { MethodologyDocument } from './document.ts';
import { createMethodology } from './docket-1.ts';
import { docket1Document } from './docket-1-document.ts';
import { DOCKET_REVISIONS, versionOf } from './docket-1-revisions.ts';
import { ecologitsDocument } from './ecologits-document.ts';
import type { Methodology } from './methodology.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { FROZEN_METHODOLOGIES } from './frozen.ts';
import type { FactorSetFile } from './factor-set-file.ts';

/** The profile that receipts use unless told otherwise. */
export const DEFAULT_METHODOLOGY = 'docket-1';

/** A line of `GET /methodologies`. */
interface MethodologySummary {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly digest: string;
}

/** Every methodology that was ever released. */
export interface Methodologies {
  /** Computes what new receipts state: the newest version of the default profile. */
  readonly current: Methodology;
  /** The versions of an id, oldest first. */
  versions(id: string): readonly string[];
  /** Oldest first within an id. */
  listMethodologies(): readonly MethodologySummary[];
  /** The exact bytes that a receipt's digest is of; undefined when there never was such a version. */
  methodologyDocument(id: string, version: string): MethodologyDocument | undefined;
  /** A version that can compute receipts; undefined for one that cannot, or does not exist. */
  methodology(id: string, version: string): Methodology | undefined;
}

/** A version of a methodology; what it is made of is read and checked when it is first asked for. */
interface Release {
  readonly id: string;
  readonly version: string;
  readonly document: () => MethodologyDocument;
  readonly methodology?: () => Methodology;
}

/**
 * The methodologies over the factor sets there are. The current one is made at once, the others when a receipt cites them.
 * Throws MalformedData, now or then, when data or code would give a document other than the one that was released: a
 * receipt must never cite a document that cannot be fetched.
 */
export function methodologiesOver(sets: readonly FactorSetFile[]): Methodologies {
  const docket = docketReleases(sets);
  const releases: readonly Release[] = [...docket, ecologitsRelease(sets)];
  const release = (id: string, version: string): Release | undefined =>
    releases.find((each) => each.id === id && each.version === version);
  return {
    current: docket.at(-1)!.methodology!(),
    versions: (id) => releases.filter((each) => each.id === id).map(({ version }) => version),
    listMethodologies: () =>
      releases.map(({ document }) => {
        const { id, version, title, digest } = document();
        return { id, version, title, digest };
      }),
    methodologyDocument: (id, version) => release(id, version)?.document(),
    methodology: (id, version) => release(id, version)?.methodology?.(),
  };
}

/** Each revision with the factor sets from the one that it was released with up to the next revision's. */
function docketReleases(sets: readonly FactorSetFile[]): readonly Release[] {
  const startOf = (at: number): number => {
    const revision = DOCKET_REVISIONS[at];
    return revision === undefined
      ? sets.length
      : sets.findIndex(({ version }) => version === revision.releasedWith);
  };
  return DOCKET_REVISIONS.flatMap(({ revision }, at) =>
    sets.slice(startOf(at), startOf(at + 1)).map((set): Release => {
      const version = versionOf(revision, set.version);
      const document = once(() => released(docket1Document(set.read(), revision)));
      const methodology = once(() => createMethodology(set.read(), revision, document()));
      return { id: DEFAULT_METHODOLOGY, version, document, methodology };
    }),
  );
}

function ecologitsRelease(sets: readonly FactorSetFile[]): Release {
  // Its citations are those of the set that it was released with.
  const set = sets.find(({ version }) => version === '2026-11')!;
  const document = once(() => released(ecologitsDocument(set.read().sources)));
  return { id: 'ecologits-0.11.2', version: '1.0.0', document };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** A document that was released is as it was. */
function released(document: MethodologyDocument): MethodologyDocument {
  const { id, version, digest } = document;
  const frozen = FROZEN_METHODOLOGIES.find((each) => each.id === id && each.version === version);
  if (frozen !== undefined && digest !== frozen.digest) {
    throw new MalformedData(
      'wrong_value',
      '',
      `methodology ${id} ${version} is not what was released: ${digest}`,
    );
  }
  return document;
}
