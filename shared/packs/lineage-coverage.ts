import { LINEAGE_DOCUMENTS_MAX } from './layout.ts';
import type { LineageCounts } from './seal-format.ts';

/**
 * Tells which receipts of a pack have their derivation described: the first of each, in the order of the ledger, until
 * there are as many documents as a pack may have. Holds a short key for each document, and nothing for receipts.
 */
export class LineageCoverage {
  readonly #keys = new Set<string>();
  #described = 0;
  #undescribed = 0;

  /**
   * Takes the next receipts of one derivation. Returns whether the first of them has the derivation's document.
   * @param key the derivation's, of 43 characters
   */
  take(key: string, receipts = 1): boolean {
    const known = this.#keys.has(key);
    if (!known && this.#keys.size >= LINEAGE_DOCUMENTS_MAX) {
      this.#undescribed += receipts;
      return false;
    }
    this.#described += receipts;
    if (!known) this.#keys.add(key);
    return !known;
  }

  counts(): LineageCounts {
    return {
      described: this.#described,
      documents: this.#keys.size,
      type: 'PackLineage',
      undescribed: this.#undescribed,
    };
  }
}
