import type { ReceiptDocument } from './document.ts';

/** A credential without its proof. Only what JSON can say, and what receipts may be made of (docs/receipts.md). */
export interface UnsignedCredential {
  readonly '@context': readonly string[];
  readonly issuer: string;
  /** Also the time of the proof. */
  readonly validFrom: string;
  readonly [field: string]: unknown;
}

/** Signs with one key. Synchronous: one signature costs less than handing it to another thread. */
export interface ReceiptSigner {
  readonly kid: string;
  /**
   * Signs what `buildReceipt` made. Its fields must stand in canonical order, as they do there.
   * @returns the canonical JSON (RFC 8785), proof included: the one form that is stored, sent, logged and packed
   * @throws MalformedData `lone_surrogate`, `too_large`
   */
  sign(document: ReceiptDocument): string;
}

/** Signs other credentials, such as the seal of an evidence pack. */
export interface CredentialSigner {
  readonly kid: string;
  /**
   * Puts the fields in order first.
   * @returns the canonical JSON, proof included
   * @throws MalformedData `lone_surrogate`
   */
  signCredential(document: UnsignedCredential): string;
}
