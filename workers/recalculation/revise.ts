import { hash } from 'node:crypto';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import { type RevisionRow, receiptColumns } from '#shared/receipts/columns.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import type { RevisableReceipt } from '#shared/receipts/postgres/revisions.ts';
import type { ReceiptSigner } from '#shared/receipts/signing/signer.ts';

export interface ReviseDeps {
  issuer: ReceiptIssuer;
  /** The key of this moment. */
  signer: () => ReceiptSigner;
  /** Epoch milliseconds. */
  now: () => number;
  /** A fresh `rcpt_…` of this moment. */
  newReceiptId: (nowMs: number) => string;
}

export interface RevisionInput {
  original: RevisableReceipt;
  /** The original, parsed. */
  document: ReceiptDocument;
  /** What happened, as the original states it. */
  record: InferenceRecord;
  measurement: Measurement;
  gridZone: string;
  kind: RevisionRow['kind'];
  /** One sentence. */
  reason: string;
}

/** The reason that a revision gives: why it was made and, after it, why somebody asked for it, in their words. */
export function withRequest(reason: string, askedBecause: string | null): string {
  return askedBecause === null ? reason : `${reason} Asked for: ${askedBecause}`;
}

/** Builds and signs a receipt that revises another. Nothing of the original changes; nothing is stored yet. */
export function revise(deps: ReviseDeps, input: RevisionInput): RevisionRow {
  const { original, document, record, measurement } = input;
  const signedAt = deps.now();
  const newReceiptId = deps.newReceiptId(signedAt);
  const receipt: ReceiptInput = {
    issuer: deps.issuer,
    record,
    estimate: { measurement },
    signedAt,
    gridZone: input.gridZone,
    revision: {
      newReceiptId,
      receiptId: original.receiptId,
      digest: hash('sha256', original.bytes, 'base64url'),
      leafIndex: original.leafIndex,
      number: (document.revisionNumber ?? 0) + 1,
      reason: input.reason,
    },
  };
  if (record.upstreamModel !== undefined) receipt.modelVersion = record.upstreamModel;
  const text = deps.signer().sign(buildReceipt(receipt));
  return {
    ...receiptColumns(newReceiptId, record, signedAt, measurement),
    orgId: original.orgId,
    kind: input.kind,
    supersedes: original.receiptId,
    tier: record.tier,
    text,
  };
}
