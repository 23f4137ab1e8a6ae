import { hash } from 'node:crypto';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { ran } from '#shared/kernel/inference.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import {
  type DerivationRecord,
  derivationOf,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { idInAddress, recordOnReceipt, statedInputs } from '#shared/receipts/reread.ts';
import { type Corpus, METHODOLOGIES } from './corpus.ts';

/** No receipt says by which key it was asked for. */
const KEY = 'key_01JD0A8N5K3M7Q2T9VXB4C6DEG';

/** A receipt as it is issued now, and the record that it names. */
interface Issued {
  document: ReceiptDocument;
  derivation?: DerivationRecord;
}

/** Makes a corpus anew: what the programs issue now for the same requests, signed at the same times. */
export async function reissue(corpus: Corpus): Promise<void> {
  const { expected } = corpus;
  const lab = await corpus.lab();
  const signer = lab.signer();
  const issued = expected.receipts.map(({ name }) =>
    issuedNow(lab.issuer, JSON.parse(corpus.bytesOf(name).toString()) as ReceiptDocument, corpus),
  );
  rmSync(corpus.path('derivations'), { recursive: true });
  mkdirSync(corpus.path('derivations'));
  issued.forEach(({ document, derivation }, index) => {
    const receipt = expected.receipts[index]!;
    const { wasRevisionOf: revised } = document;
    if (revised !== undefined) {
      // What it revises came before it, and has been made anew.
      const { sha256 } = expected.receipts[revised.leafIndex]!;
      const digest = Buffer.from(sha256, 'hex').toString('base64url');
      document.wasRevisionOf = { ...revised, digest: multihashOf(digest) };
    }
    if (derivation !== undefined)
      writeFileSync(corpus.path('derivations', `${derivation.digest}.json`), derivation.text);
    const text = signer.sign(document);
    writeFileSync(corpus.path('receipts', `${receipt.name}.json`), text);
    receipt.sha256 = hash('sha256', text);
    receipt.lineageSha256 = hash('sha256', corpus.lineageOf(receipt));
  });
  writeFileSync(corpus.path('did.json'), lab.documents.didDocument());
  writeFileSync(corpus.path('expected.json'), `${JSON.stringify(expected, null, 2)}\n`);
  await corpus.integrate(lab);
  await lab.anchor();
  for (const { name, ...range } of expected.packs) {
    await corpus.pack(lab, corpus.path(`${name}.zip`), range);
  }
}

function issuedNow(issuer: ReceiptIssuer, before: ReceiptDocument, corpus: Corpus): Issued {
  const { credentialSubject: subject, measurement: stated, degradation } = before;
  if (!ran(subject.outcome)) {
    const { proof: _, ...document } = { ...before, '@context': issuer.contexts };
    return { document };
  }
  const input: ReceiptInput = {
    issuer,
    record: recordOnReceipt(before, KEY),
    signedAt: Date.parse(before.validFrom),
    ...(subject.gridZone === undefined ? {} : { gridZone: subject.gridZone }),
    ...(stated?.metered === undefined ? {} : { metered: stated.metered }),
    ...revisionOn(before),
  };
  if (degradation !== undefined)
    return { document: buildReceipt({ ...input, estimate: { degradation } }) };
  const inputs = statedInputs(wholeMeasurement(stated!, corpus.derivation));
  const measurement = METHODOLOGIES.current.estimate(rebuildInput(inputs));
  return {
    document: buildReceipt({ ...input, estimate: { measurement } }),
    derivation: derivationOf(issuer, measurement),
  };
}

function revisionOn(before: ReceiptDocument): Pick<ReceiptInput, 'revision'> {
  const { wasRevisionOf: revised, revisionNumber, revisionReason, revisionNote } = before;
  if (revised === undefined) return {};
  return {
    revision: {
      newReceiptId: idInAddress(before.id),
      receiptId: idInAddress(revised.id),
      // Of the bytes that it revised then; those of now are known when they are signed.
      digest: 'A'.repeat(43),
      leafIndex: revised.leafIndex,
      number: revisionNumber!,
      reason: revisionReason!,
      ...(revisionNote === undefined ? {} : { note: revisionNote }),
    },
  };
}
