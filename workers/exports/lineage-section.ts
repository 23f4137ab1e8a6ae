import { lineageContextOf } from '#shared/lineage/build.ts';
import { LineageContradiction } from '#shared/lineage/facts.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { lineagePath } from '#shared/packs/layout.ts';
import { LineageCoverage } from '#shared/packs/lineage-coverage.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { PackedReceipt } from '#shared/lineage/pack-lineage.ts';
import { PackFailure } from './failure.ts';
import type { PackFile } from './shard.ts';

/** Where the numbers of a pack come from: one document for each derivation, made when its first receipt passes. */
export class LineageSection {
  readonly #log: string;
  readonly #make: (receipt: PackedReceipt) => string;
  readonly #coverage = new LineageCoverage();
  /** Addresses of the contexts that the documents cite. */
  readonly contexts = new Set<string>();

  /** @param log origin of the organisation's log */
  constructor(log: string, make: (receipt: PackedReceipt) => string) {
    this.#log = log;
    this.#make = make;
  }

  /**
   * Takes the next receipt of the pack, with the key of its derivation if it has one. Returns the document that is made for it, when its derivation is new: it goes
   * into the archive at once, so that none has to be kept.
   * @throws PackFailure when the receipt contradicts its methodology
   */
  take(
    index: number,
    body: string,
    document: ReceiptDocument,
    derivation: string | undefined,
  ): PackFile | undefined {
    if (derivation === undefined || !this.#coverage.take(derivation)) return undefined;
    this.contexts.add(lineageContextOf(document.id));
    const receipt = { bytes: Buffer.from(body), document, log: this.#log, index };
    return { path: lineagePath(index), bytes: Buffer.from(this.#explain(receipt)) };
  }

  get counts() {
    return this.#coverage.counts();
  }

  #explain(receipt: PackedReceipt): string {
    try {
      return this.#make(receipt);
    } catch (error) {
      if (!(error instanceof LineageContradiction || error instanceof MalformedData)) throw error;
      const what = `The numbers of entry ${receipt.index} cannot be derived again: ${error.message}.`;
      throw new PackFailure('lineage_contradiction', what);
    }
  }
}
