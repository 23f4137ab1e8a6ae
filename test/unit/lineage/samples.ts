import { hash } from 'node:crypto';
import type { LineageDocument } from '#shared/lineage/document.ts';
import type { RecordedFacts } from '#shared/lineage/facts.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { idInAddress } from '#shared/receipts/reread.ts';
import { lineageOf } from '#shared/lineage/of-receipt.ts';
import {
  type DerivationDocument,
  derivationOf,
  parseDerivation,
} from '#shared/receipts/derivation.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { METHODOLOGY, request } from '#test/unit/methodology/fixtures.ts';
import { INPUTS, newIssuer } from '#test/unit/receipts/samples.ts';

export const { signer } = newIssuer();
const derivations = new Map<string, DerivationDocument>();
/** What lineage is looked up in: the released methodologies, and the records of the receipts issued here. */
export const methodologies = {
  ...shippedMethodologies(),
  derivation: (digest: string) => derivations.get(digest),
};
export const LEAF_INDEX = 41;

export const sha256 = (bytes: Uint8Array): string => hash('sha256', bytes, 'base64url');
const leafHash = (bytes: Uint8Array): Buffer =>
  hash('sha256', Buffer.concat([Uint8Array.of(0), bytes]), 'buffer');

/** A receipt of a real estimate. */
export function issued(input: EstimateInput = request(), more: Partial<ReceiptInput> = {}) {
  const estimate = { measurement: METHODOLOGY.estimate(input) };
  const { digest, text } = derivationOf(INPUTS['full']!.issuer, estimate.measurement);
  derivations.set(digest, parseDerivation(text, digest));
  return Buffer.from(signer.sign(buildReceipt({ ...INPUTS['full']!, estimate, ...more })));
}

/** What the ledger knows of a receipt that was never revised. */
export function factsOf(bytes: Uint8Array): RecordedFacts {
  const { id, credentialSubject } = JSON.parse(Buffer.from(bytes).toString()) as ReceiptDocument;
  return {
    chain: [
      {
        receiptId: idInAddress(id),
        kind: 'inference',
        digest: sha256(bytes),
        leafIndex: LEAF_INDEX,
      },
    ],
    ledger: {
      log: `gateway.example/log/${idInAddress(credentialSubject.organisation)}`,
      leafIndex: LEAF_INDEX,
      leafHash: leafHash(bytes),
      integratedAt: Date.UTC(2026, 10, 20, 9, 38, 7, 412),
    },
  };
}

export function lineage(bytes: Uint8Array, facts: RecordedFacts = factsOf(bytes)): LineageDocument {
  return JSON.parse(lineageOf(methodologies, bytes, facts)) as LineageDocument;
}
