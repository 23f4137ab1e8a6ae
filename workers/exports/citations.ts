import { multihashOf } from '#shared/kernel/multihash.ts';
import { CONTEXTS, methodologyPath } from '#shared/packs/layout.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { sha256 } from './archive.ts';
import type { PackDocuments } from './documents.ts';
import { PackFailure } from './failure.ts';
import type { PackFile } from './shard.ts';

/** Contexts and methodologies that the receipts of a pack cite: a handful, however many receipts there are. */
export class Citations {
  readonly #documents: PackDocuments;
  readonly #contexts = new Set<string>();
  /** Path → address. Receipts repeat them, so they are told apart by one text. */
  readonly #plans = new Map<
    string,
    { id: string; name: string; version: string; digest: string }
  >();

  constructor(documents: PackDocuments) {
    this.#documents = documents;
  }

  note(
    document: Pick<ReceiptDocument, '@context'>,
    measurement: Pick<WholeMeasurement, 'hadPlan'> | undefined,
  ): void {
    for (const url of document['@context']) this.#contexts.add(url);
    const plan = measurement?.hadPlan;
    if (plan === undefined) return;
    const key = `${plan.id} ${plan.digest}`;
    if (!this.#plans.has(key)) this.#plans.set(key, plan);
  }

  /** The cited methodologies. @throws PackFailure when one is not what the receipts cite */
  methodologies(): PackFile[] {
    const files = new Map<string, PackFile>();
    for (const { name, version, digest } of this.#plans.values()) {
      const document = this.#documents.methodology(name, version);
      if (document === undefined || multihashOf(document.digest) !== digest) {
        const what = `A receipt cites ${name} ${version} with a digest that was never published.`;
        throw new PackFailure('methodology_unknown', what);
      }
      const path = methodologyPath(name, version);
      files.set(path, { path, bytes: Buffer.from(document.text) });
    }
    return [...files.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** The same as texts, by path. */
  texts(): Map<string, string> {
    return new Map(
      this.methodologies().map(({ path, bytes }) => [path, Buffer.from(bytes).toString()]),
    );
  }

  /** Address → base64url SHA-256 of everything cited, in a fixed order. @param own contexts of the seal and of lineage */
  resources(own: readonly string[]): Map<string, string> {
    const digests = new Map<string, string>();
    for (const url of new Set([...this.#contexts, ...own])) {
      const bytes = this.#documents.contexts.get(contextFile(url));
      if (bytes === undefined) {
        throw new PackFailure('context_unknown', `A receipt cites the unknown context ${url}.`);
      }
      digests.set(url, sha256(bytes));
    }
    for (const { id, name, version } of this.#plans.values()) {
      digests.set(id, this.#documents.methodology(name, version)!.digest);
    }
    return new Map([...digests].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

/** Every context that is shipped goes into every pack: a few kilobytes. */
export function contextFiles(documents: PackDocuments): PackFile[] {
  return [...documents.contexts].map(([name, bytes]) => ({ path: `${CONTEXTS}/${name}`, bytes }));
}

function contextFile(url: string): string {
  return url === VC_CONTEXT_URL ? 'credentials-v2.jsonld' : url.slice(url.lastIndexOf('/') + 1);
}
