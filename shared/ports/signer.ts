import type { ReceiptDocument } from '../domain/receipt/document.ts';

/** A signed document in its one form: the bytes that are stored, sent, logged and packed. */
export interface SignedDocument {
  /** The canonical JSON (RFC 8785), proof included. */
  text: string;
  /** The same as UTF-8. */
  bytes: Uint8Array;
  /** RFC 6962: SHA-256(0x00 || bytes), 32 bytes. */
  leafHash: Uint8Array;
}

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
   * @throws ReceiptRefusal `lone_surrogate`, `too_large`
   */
  sign(document: ReceiptDocument): SignedDocument;
}

/** Signs other credentials, such as the seal of an evidence pack. */
export interface CredentialSigner {
  readonly kid: string;
  /** Puts the fields in order first. @throws ReceiptRefusal `lone_surrogate` */
  signCredential(document: UnsignedCredential): SignedDocument;
}
