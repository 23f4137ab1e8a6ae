import { hash } from 'node:crypto';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type Measurement, MethodologyFailure } from '#shared/methodology/measurement.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import { type RevisionRow, receiptColumns } from '#shared/receipts/columns.ts';
import { derivationOf } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { RevisionReason } from '#shared/receipts/format-1.ts';
import type { MeteredInterval } from '#shared/receipts/measurement-document.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import type { RevisableReceipt } from '#shared/receipts/postgres/revisable.ts';
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
  /** The interval over which its energy was metered, where it was. */
  metered?: MeteredInterval | undefined;
  kind: RevisionRow['kind'];
  reason: RevisionReason;
  /** Why it was asked for, in the words of who asked; null where that was not said. */
  askedBecause: string | null;
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
      ...(input.askedBecause === null ? {} : { note: input.askedBecause }),
    },
  };
  if (input.metered !== undefined) receipt.metered = input.metered;
  const text = deps.signer().sign(buildReceipt(receipt));
  return {
    ...receiptColumns({
      receiptId: newReceiptId,
      record,
      kind: input.kind,
      tier: record.tier,
      issuedAt: signedAt,
      measurement,
    }),
    orgId: original.orgId,
    supersedes: original.receiptId,
    text,
    derivation: derivationOf(deps.issuer, measurement),
  };
}

/** The metered interval that a receipt names, if it names one. */
export function meteredOn({ measurement }: ReceiptDocument): MeteredInterval | undefined {
  return measurement?.metered;
}

/**
 * What `work` gives, or undefined where a receipt cannot be read or gets no estimate: that is a fault of this receipt
 * alone, so it is told and the others go on. A store that cannot be reached is no such fault, and ends the job.
 */
export function unlessFaulty<T>(work: () => T, told: (error: unknown) => void): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof MethodologyFailure || error instanceof MalformedData)) throw error;
    told(error);
    return undefined;
  }
}

/** A receipt that is to be revised, parsed. */
export interface ReadReceipt {
  original: RevisableReceipt;
  document: ReceiptDocument;
}

/** The receipts of a page that can be read; the others are told. */
export function readReceipts(
  receipts: readonly RevisableReceipt[],
  told: (receiptId: string, error: unknown) => void,
): ReadReceipt[] {
  return receipts.flatMap((original) => {
    const parsed = unlessFaulty(
      () => parseReceipt(original.bytes),
      (error) => told(original.receiptId, error),
    );
    return parsed === undefined ? [] : [{ original, document: parsed.document }];
  });
}
