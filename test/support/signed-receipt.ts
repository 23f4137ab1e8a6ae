import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { ReceiptSigner } from '#shared/receipts/signing/signer.ts';

/** An unsigned receipt, with what a test has made of it, signed as the service signs receipts. */
export function signedReceipt(signer: ReceiptSigner, receipt: object): string {
  return signer.sign(JSON.parse(canonicalJson(receipt)) as ReceiptDocument);
}
