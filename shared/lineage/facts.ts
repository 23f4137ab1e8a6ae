import type { Derivation } from '#shared/methodology/derivation.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';

/** A member of a receipt's chain. */
export interface ChainMember {
  /** `rcpt_…` */
  readonly receiptId: string;
  /** base64url SHA-256 of its exact bytes. */
  readonly digest: string;
  /** Absent before it is integrated, as is what the ledger takes it for: `inference`, `degraded`, `recalculated`, … */
  readonly leafIndex?: number;
  readonly kind?: string;
}

/** Where the ledger has the receipt. */
export interface LedgerPosition {
  /** Origin of the log: `gateway.example/log/org_…`. */
  readonly log: string;
  readonly leafIndex: number;
  /** 32 bytes. */
  readonly leafHash: Uint8Array;
  /** Epoch milliseconds. Absent in a pack: no signature says it, and what is signed there says more. */
  readonly integratedAt?: number;
}

/** What is known of a receipt beside its own words. */
export interface RecordedFacts {
  /**
   * The whole chain, oldest first; the receipt alone when it was never revised. In a pack as far as the receipt itself
   * pins it: what it revises, and the receipt.
   */
  readonly chain: readonly ChainMember[];
  /** Absent before it is integrated. */
  readonly ledger?: LedgerPosition;
}

/** All that a lineage document is made of. */
export interface LineageFacts extends RecordedFacts {
  readonly bytes: Uint8Array;
  /** The same, parsed. */
  readonly document: ReceiptDocument;
  /** Its measurement with everything that it names; absent when it states none. */
  readonly measurement?: WholeMeasurement;
  /** How the methodology comes to the measurement; absent when the receipt states none. */
  readonly derivation?: Derivation;
}

/** What the lineage would say and the signature denies. */
export class LineageContradiction extends Error {
  /** E.g. `used.FRA`, `ledger.leafHash`. */
  readonly path: string;
  constructor(path: string) {
    super(`${path} is not what the receipt pins`);
    this.name = 'LineageContradiction';
    this.path = path;
  }
}
