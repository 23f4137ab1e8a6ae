import {
  LINEAGE,
  LINEAGE_DOCUMENTS_MAX,
  lineageIndex,
  lineagePath,
  SEAL,
} from '#shared/packs/layout.ts';
import { LineageCoverage } from '#shared/packs/lineage-coverage.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import type { Bag } from './bag.ts';
import type { LineageFindings, PackedLineage } from './shard-lineage.ts';

/** Counts of the lineage documents of a pack. */
export interface LineageSummary {
  documents: number;
  /** Made again from receipt and methodology, and found the same; of the others only what is signed was compared. */
  remade: number;
}

/** Checks that each derivation of a pack has its document, and that there are no others. */
export class LineageWalk {
  readonly #bag: Bag;
  readonly #coverage = new LineageCoverage();
  /** Documents by index; those that were met are taken out of `#unmet`. */
  readonly #documents: readonly PackedLineage[];
  readonly #unmet: Set<number>;
  #contradiction: LineageFindings['contradiction'];
  readonly summary: LineageSummary = { documents: 0, remade: 0 };
  /** Derivations that have a document, by its path, in the order of the ledger. */
  readonly explained = new Map<string, string>();

  /** @throws PackProblem `extra_file` when something else lies among the documents */
  constructor(bag: Bag) {
    this.#bag = bag;
    const paths = [...bag.manifest.keys()].filter((path) => path.startsWith(`${LINEAGE}/`));
    if (paths.length > LINEAGE_DOCUMENTS_MAX) {
      throw new PackProblem('extra_file', LINEAGE, 'There are more documents than a pack has.');
    }
    this.#documents = paths.map((path) => {
      const index = lineageIndex(path);
      if (index === undefined)
        throw new PackProblem('extra_file', path, 'It is not named as a lineage document is.');
      return { index, file: bag.pack.files.get(path)!, sha256: bag.manifest.get(path)! };
    });
    this.#unmet = new Set(this.#documents.map(({ index }) => index));
  }

  /** The documents of entries `first` to `last`, both included. */
  between(first: number, last: number): PackedLineage[] {
    return this.#documents.filter(({ index }) => index >= first && index <= last);
  }

  /** Takes the findings of the next shard. @throws PackProblem `lineage_missing` */
  take({ derivations, documents, contradiction }: LineageFindings): void {
    this.#contradiction ??= contradiction;
    for (const { key, firstIndex, receipts } of derivations) {
      if (!this.#coverage.take(key, receipts)) continue;
      if (!this.#unmet.delete(firstIndex)) {
        throw new PackProblem(
          'lineage_missing',
          lineagePath(firstIndex),
          `The pack does not say where the numbers of entry ${firstIndex} come from.`,
        );
      }
      this.explained.set(lineagePath(firstIndex), key);
    }
    this.summary.documents += documents.length;
    this.summary.remade += documents.filter(({ remade }) => remade).length;
  }

  /** @throws PackProblem `lineage_mismatch`, `extra_file` */
  finish(): void {
    if (this.#contradiction !== undefined) {
      const { path, message } = this.#contradiction;
      throw new PackProblem('lineage_mismatch', path, message);
    }
    for (const index of this.#unmet) {
      throw new PackProblem(
        'extra_file',
        lineagePath(index),
        'It is made for no receipt of the pack that is the first of its derivation.',
      );
    }
    const sealed = this.#bag.seal.credentialSubject.lineage;
    const { described, documents, undescribed } = this.#coverage.counts();
    const fits =
      sealed.described === described &&
      sealed.documents === documents &&
      sealed.undescribed === undescribed;
    if (!fits) {
      throw new PackProblem('lineage_mismatch', SEAL, 'The seal counts lineage otherwise.');
    }
  }
}
