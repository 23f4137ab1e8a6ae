import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { basename } from 'node:path';
import { hash } from 'node:crypto';
import { knownPackContextDigest } from '#shared/packs/pack-context.ts';
import { CONTEXTS, METHODOLOGIES, methodologyPath } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { knownContextDigest, VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import type { Bag } from './bag.ts';
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

  constructor(bag: Bag) {
    this.#bag = bag;
    this.#sealed = new Map(bag.seal.relatedResource.map((each) => [each.id, each.digestMultibase]));
    for (const path of bag.manifest.keys()) {
      if (path.startsWith(`${CONTEXTS}/`)) this.#checkName(path);
    }
    for (const id of bag.seal['@context']) this.#checkContext(id);
  }

  /** @throws PackProblem `context_mismatch`, `methodology_mismatch` */
  check(citations: readonly Citation[]): void {
    for (const citation of citations) {
      const key = `${citation.id} ${citation.digest}`;
      if (this.#checked.has(key)) continue;
      if (citation.kind === 'context') this.#checkContext(citation.id);
      else this.#checkMethodology(citation);
      this.#checked.add(key);
    }
  }

  /** Documents that receipts cite, besides contexts. */
  finish(): void {
    const cited = new Set(this.#checked);
    for (const path of this.#bag.manifest.keys()) {
      if (!path.startsWith(`${METHODOLOGIES}/`)) continue;
      const digest = multihashOfContent(this.#bag.read(path));
      if (![...cited].some((key) => key.endsWith(` ${digest}`))) {
        throw new PackProblem('extra_file', path, 'No receipt cites this methodology.');
      }
    }
  }

  /** Our contexts are named by their digest, and the W3C states that of its own. */
  #checkName(path: string): void {
    const name = basename(path);
    const url = name === VC_CONTEXT_FILE ? VC_CONTEXT_URL : `/contexts/${name}`;
    const expected = knownContextDigest(url) ?? knownPackContextDigest(url) ?? digestInName(name);
    if (expected === undefined || hash('sha256', this.#bag.read(path)) !== expected) {
      throw new PackProblem('context_mismatch', path, 'The context is not what its name promises.');
    }
  }

  #checkContext(id: string): void {
    const name = id === VC_CONTEXT_URL ? VC_CONTEXT_FILE : id.slice(id.lastIndexOf('/') + 1);
    const path = `${CONTEXTS}/${name}`;
    if (!this.#bag.manifest.has(path)) {
      throw new PackProblem('context_mismatch', id, 'A cited context is not in the pack.');
    }
    if (this.#sealed.get(id) !== multihashOfContent(this.#bag.read(path))) {
      throw new PackProblem('context_mismatch', id, 'A cited context is not what the seal says.');
    }
  }

  #checkMethodology({ id, name, version, digest }: Citation): void {
    const path = methodologyPath(name, version);
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
  }
}

/** A later release may have contexts that this one does not know; their names still hold their digests. */
function digestInName(name: string): string | undefined {
  return /^docket-[a-z-]+-([0-9a-f]{64})\.jsonld$/.exec(name)?.[1];
}
