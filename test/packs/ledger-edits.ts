/** Edits of the receipts of a ledger, for the rows of the tamper matrix. */
import type { Loose } from './tampering.ts';

/** An edit of the receipts of a ledger, by a holder of their keys. */
export type Edit = (receipts: Loose[]) => Loose[];

/** Indexes in the lab's ledger: an estimate that is not the first of its derivation, and a revision. */
export const PLAIN = 9;
export const REVISED = 0;

export const atEntry =
  (index: number, edit: (receipt: Loose) => void): Edit =>
  (all) =>
    all.map((each, i) => {
      if (i !== index) return each;
      const copy = structuredClone(each);
      edit(copy);
      return { ...copy, edited: true };
    });

export const revisionOf = (all: Loose[], index: number): number =>
  all.findIndex(({ wasRevisionOf }) => wasRevisionOf?.leafIndex === index);
export const atRevision =
  (edit: (receipt: Loose) => void): Edit =>
  (all) =>
    atEntry(revisionOf(all, REVISED), edit)(all);
export const isMetered = ({ measurement }: Loose): boolean => measurement?.metered !== undefined;
export const isHourly = ({ measurement }: Loose): boolean => measurement?.used.length === 2;
export const atFirst =
  (is: (receipt: Loose) => boolean, edit: (receipt: Loose) => void): Edit =>
  (all) =>
    atEntry(all.findIndex(is), edit)(all);
