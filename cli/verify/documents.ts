import { digestIn, multihashOfContent } from '#shared/kernel/multihash.ts';
import { decodeBytes, encodeBytes, sha256Text } from '#primitives';
import { knownPackContextDigest } from '#shared/packs/pack-context.ts';
import {
  CONTEXTS,
  derivationPath,
  DERIVATIONS,
  DERIVATIONS_MAX,
  METHODOLOGIES,
  methodologyPath,
  SEAL,
  SHAPES,
} from '#shared/packs/layout.ts';
import { SHAPES_DIGEST } from '#shared/packs/shapes.ts';
import { zoneYears, type ZoneYear } from '#shared/packs/zone-years.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { knownContextDigest, VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { type DerivationDocument, parseDerivation } from '#shared/receipts/derivation.ts';
import type { Bag } from './bag.ts';
import { textOf } from './lines.ts';
import {
  compareWithRelease,
  isReleased,
  recordsIn,
  type ReleasedDocuments,
  releaseNamed,
  type UnreleasedMethodology,
} from './released.ts';
import type { Citation } from './shard-judge.ts';

const VC_CONTEXT_FILE = 'credentials-v2.jsonld';

/**
 * The documents that receipts rest on, and that their signatures name only by address: contexts and methodologies. Each
 * must be in the pack, have the digest that the seal states, and have the one that receipts cite (contexts hold theirs
 * in their names).
 */
export class CitedDocuments {
  readonly #bag: Bag;
  /** Address → multihash, as sealed. */
  readonly #sealed: ReadonlyMap<string, string>;
  readonly #checked = new Set<string>();
  /** Addresses that the seal, receipts or lineage documents cite. */
  readonly #cited = new Set<string>();
  /** Where they stand. */
  readonly #paths = new Set<string>();
  readonly #derivations = new Set<string>();
  /** Methodologies that receipts cite, each once. */
  readonly #methodologies: Citation[] = [];

  constructor(bag: Bag) {
    this.#bag = bag;
    this.#sealed = new Map(bag.seal.relatedResource.map((each) => [each.id, each.digestMultibase]));
    for (const path of bag.manifest.keys()) {
      if (path.startsWith(`${CONTEXTS}/`)) this.#checkName(path);
    }
    if (sha256Text(bag.read(SHAPES), 'hex') !== SHAPES_DIGEST) {
      const message = 'The shapes are not those that were published.';
      throw new PackProblem('shapes_mismatch', SHAPES, message);
    }
    for (const id of bag.seal['@context']) this.#checkContext(id);
  }

  /** @throws PackProblem `context_mismatch`, `methodology_mismatch` */
  check(citations: readonly Citation[]): void {
    for (const citation of citations) {
      const key = `${citation.id} ${citation.digest}`;
      if (this.#checked.has(key)) continue;
      if (citation.kind === 'context') this.#checkContext(citation.id);
      // Its name is its digest, which is compared when the records are read.
      else if (citation.kind === 'derivation') this.#derivations.add(citation.digest);
      else this.#checkMethodology(citation);
      this.#checked.add(key);
    }
  }

  /** Texts of the derivation records in the pack by digest. @throws PackProblem for one that is not what its name says */
  derivations(): Map<string, string> {
    const texts = new Map<string, string>();
    for (const path of this.#bag.manifest.keys()) {
      if (!path.startsWith(`${DERIVATIONS}/`)) continue;
      if (texts.size >= DERIVATIONS_MAX) {
        throw new PackProblem(
          'extra_file',
          path,
          'There are more derivation records than a pack has.',
        );
      }
      const bytes = this.#bag.read(path);
      const digest = multihashOfContent(bytes);
      if (path !== derivationPath(digest)) {
        const message = 'The derivation record is not what its name promises.';
        throw new PackProblem('derivation_mismatch', path, message);
      }
      texts.set(digest, textOf(bytes, path));
    }
    return texts;
  }

  /** The derivation records that receipts name, by digest. @throws MalformedData */
  named(): Map<string, DerivationDocument> {
    const named = [...this.derivations()].filter(([digest]) => this.#derivations.has(digest));
    return new Map(named.map(([digest, text]) => [digest, parseDerivation(text, digest)]));
  }

  /** Methodologies that receipts cite and no release has, in the order of the ledger. */
  unreleased(released: ReleasedDocuments): UnreleasedMethodology[] {
    return this.#methodologies
      .filter(({ digest }) => !isReleased(digest))
      .map((cited) => {
        const path = methodologyPath(cited.name, cited.version);
        return compareWithRelease(cited, textOf(this.#bag.read(path), path), released);
      });
  }

  /** What the factor sets of the pack say of grid zones over a year. */
  zoneYears(): Map<string, ZoneYear> {
    const paths = this.#methodologies.map(({ name, version }) => methodologyPath(name, version));
    return zoneYears(new Map(paths.map((path) => [path, textOf(this.#bag.read(path), path)])));
  }

  /** What derivation records name and do not carry is in the factor set of their methodology, under that name. */
  #checkRecords(): void {
    const known = new Map<string, ReturnType<typeof recordsIn>>();
    for (const { name, version, digest } of this.#methodologies) {
      const path = methodologyPath(name, version);
      known.set(digest, recordsIn(textOf(this.#bag.read(path), path)));
      if (known.get(digest) === 'malformed') {
        throw new PackProblem('methodology_mismatch', path, 'It is not canonical JSON.');
      }
    }
    for (const [digest, { inputs, methodology }] of this.named()) {
      const records = known.get(methodology.digest);
      if (typeof records !== 'object') continue;
      const odd = inputs.find((input) => {
        return input.record === undefined && records.get(digestIn(input.digest)) !== input.name;
      });
      if (odd === undefined) continue;
      const message = `The factor set of ${methodology.name} ${methodology.version} has no such record of ${odd.name}.`;
      throw new PackProblem('derivation_mismatch', derivationPath(digest), message);
    }
  }

  /** Documents that receipts cite, besides contexts. */
  finish(): void {
    for (const path of this.#bag.manifest.keys()) {
      const digest = /^data\/derivations\/(.*)\.json$/.exec(path)?.[1];
      if (digest !== undefined && !this.#derivations.has(digest)) {
        throw new PackProblem('extra_file', path, 'No receipt names this derivation record.');
      }
    }
    const uncited = [...this.#sealed.keys()].find((id) => !this.#cited.has(id));
    if (uncited !== undefined) {
      throw new PackProblem('seal_contradiction', SEAL, `Nothing in the pack cites ${uncited}.`);
    }
    for (const path of this.#bag.manifest.keys()) {
      const isDocument = [METHODOLOGIES, CONTEXTS].some((folder) => path.startsWith(`${folder}/`));
      if (isDocument && !this.#paths.has(path)) {
        throw new PackProblem('extra_file', path, 'Nothing in the pack cites this document.');
      }
    }
    this.#checkRecords();
  }

  /** Our contexts are named by their digest, and the W3C states that of its own. */
  #checkName(path: string): void {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const url = name === VC_CONTEXT_FILE ? VC_CONTEXT_URL : `/contexts/${name}`;
    const expected = knownContextDigest(url) ?? knownPackContextDigest(url) ?? digestInName(name);
    if (expected === undefined || sha256Text(this.#bag.read(path), 'hex') !== expected) {
      throw new PackProblem('context_mismatch', path, 'The context is not what its name promises.');
    }
  }

  #checkContext(id: string): void {
    this.#cited.add(id);
    const name = id === VC_CONTEXT_URL ? VC_CONTEXT_FILE : id.slice(id.lastIndexOf('/') + 1);
    const path = `${CONTEXTS}/${name}`;
    this.#paths.add(path);
    if (!this.#bag.manifest.has(path)) {
      throw new PackProblem('context_mismatch', id, 'A cited context is not in the pack.');
    }
    if (this.#sealed.get(id) !== multihashOfContent(this.#bag.read(path))) {
      throw new PackProblem('context_mismatch', id, 'A cited context is not what the seal says.');
    }
  }

  #checkMethodology(citation: Citation): void {
    const { id, name, version, digest } = citation;
    this.#cited.add(id);
    const path = methodologyPath(name, version);
    this.#paths.add(path);
    const present = this.#bag.manifest.has(path);
    if (
      !present ||
      multihashOfContent(this.#bag.read(path)) !== digest ||
      this.#sealed.get(id) !== digest
    ) {
      throw new PackProblem(
        'methodology_mismatch',
        path,
        `${name} ${version} is not the document that receipts cite.`,
      );
    }
    const release = releaseNamed(name, version);
    if (release !== undefined && release.digest !== digestIn(digest)) {
      const message = `${name} ${version} is the name of a release, and another document.`;
      throw new PackProblem('methodology_mismatch', path, message);
    }
    this.#methodologies.push(citation);
  }
}

/** A later release may have contexts that this one does not know; their names still hold their digests. */
function digestInName(name: string): string | undefined {
  const hex = /^docket-[a-z-]+-([0-9a-f]{64})\.jsonld$/.exec(name)?.[1];
  const short = /^docket-receipt-([A-Za-z0-9_-]{43})\.jsonld$/.exec(name)?.[1];
  return hex ?? (short && encodeBytes(decodeBytes(short, 'base64url'), 'hex'));
}
