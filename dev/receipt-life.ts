import { createPrivateKey, hash, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { type Hash, leafHash, rootOfHashes } from '#shared/ledger/hashing.ts';
import { formatNote, noteKeyHash } from '#shared/ledger/notes.ts';
import { formatProof } from '#shared/ledger/proof-text.ts';
import { inclusionRanges, verifyInclusion } from '#shared/ledger/proofs.ts';
import type { LineageDocument, StepNode } from '#shared/lineage/document.ts';
import { RECEIPTS, shardPath } from '#shared/packs/layout.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { lineageOf } from '#shared/lineage/of-receipt.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import {
  exampleEstimateInput,
  examplePrivateKeyPem,
  examplePublicKey,
  exampleReceipt,
  exampleRecord,
  issuer,
} from './example-receipt.ts';
import { DRAWING, STORED } from './receipt-life-drawing.ts';

/** `node dev/receipt-life.ts` writes it; a test compares. */
export const PAGE = new URL('../docs/receipt-life.md', import.meta.url);

const methodologies = loadMethodologies();
const signer = createReceiptSigner({ privateKeyPem: examplePrivateKeyPem, did: issuer.did });
const ORIGIN = `${issuer.logs}${exampleRecord().orgId}`;
const INTEGRATED_AT = Date.UTC(2026, 10, 20, 9, 38, 7, 412);
/** Where the example stands in its log; three receipts came before it, a degraded one came after. */
const INDEX = 3;

interface Life {
  /** Receipts: their exact bytes, as text. */
  example: string;
  degraded: string;
  revised: string;
  /** Leaf hashes of the whole log, the revision last. */
  leaves: readonly Hash[];
  lineage: LineageDocument;
  lineageBytes: number;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const read = (text: string): ReceiptDocument => JSON.parse(text) as ReceiptDocument;
const idOf = (document: ReceiptDocument): string => document.id.slice(issuer.receipts.length);

function receipt(more: Partial<InferenceRecord>, at: number): string {
  const measurement = methodologies.current.estimate(exampleEstimateInput());
  const record = { ...exampleRecord(), ...more };
  return signer.sign(
    buildReceipt({ issuer, record, estimate: { measurement }, gridZone: 'FRA', signedAt: at }),
  );
}

function live(): Life {
  const example = exampleReceipt();
  const signedAt = Date.parse(read(example).validFrom);
  const before = ['AAA', 'BBB', 'CCC'].map((tail, i) =>
    receipt({ requestId: `req_01JD4Z7Q3RZ6X0T8WB5N2K9${tail}` }, signedAt - 3 + i),
  );
  const unsized = {
    ...exampleRecord(),
    requestId: 'req_01JD4Z7Q3SZ6X0T8WB5N2K9MVD',
    model: 'of-unknown-size',
  };
  const degraded = signer.sign(
    buildReceipt({
      issuer,
      record: unsized,
      estimate: { degradation: { stage: 'model', code: 'model_size_unknown' } },
      gridZone: 'FRA',
      signedAt: signedAt + 1,
    }),
  );
  const measurement = methodologies.current.estimate({
    ...exampleEstimateInput(),
    model: { id: unsized.model, footprint: { activeB: 8, totalB: 8 } },
  });
  const revised = signer.sign(
    buildReceipt({
      issuer,
      record: unsized,
      estimate: { measurement },
      gridZone: 'FRA',
      signedAt: signedAt + 600_000,
      revision: {
        newReceiptId: 'rcpt_01JD500WQ9Z6X0T8WB5N2K9MVE',
        receiptId: idOf(read(degraded)),
        digest: hash('sha256', degraded, 'base64url'),
        leafIndex: INDEX + 1,
        number: 1,
        reason:
          'The estimate failed when the receipt was issued (model_size_unknown) and was made again.',
      },
    }),
  );
  const leaves = [...before, example, degraded, revised].map((text) => leafHash(Buffer.from(text)));
  const text = lineageOf(methodologies, Buffer.from(example), {
    chain: [
      {
        receiptId: idOf(read(example)),
        kind: 'inference',
        digest: hash('sha256', example, 'base64url'),
        leafIndex: INDEX,
      },
    ],
    ledger: {
      log: ORIGIN,
      leafIndex: INDEX,
      leafHash: leaves[INDEX]!,
      integratedAt: INTEGRATED_AT,
    },
  });
  const lineage = JSON.parse(text) as LineageDocument;
  return { example, degraded, revised, leaves, lineage, lineageBytes: Buffer.byteLength(text) };
}

/** A signed tree head of the first `size` entries. */
function checkpoint(leaves: readonly Hash[], size: number): string {
  const root = rootOfHashes(leaves.slice(0, size));
  const text = formatCheckpoint({ origin: ORIGIN, size, root, extensions: [] });
  const key = createPrivateKey(examplePrivateKeyPem);
  const signature = sign(null, Buffer.from(text), key);
  const keyHash = noteKeyHash(ORIGIN, examplePublicKey);
  return formatNote({ text, signatures: [{ name: ORIGIN, keyHash, signature }] });
}

/** The proof that the example is in that tree; checked before it is shown. */
function proof(leaves: readonly Hash[], size: number): string {
  const hashes = inclusionRanges(INDEX, size).map(({ start, end }) =>
    rootOfHashes(leaves.slice(start, end)),
  );
  const root = rootOfHashes(leaves.slice(0, size));
  const claim = { index: INDEX, size, leaf: leaves[INDEX]!, proof: hashes, root };
  if (!verifyInclusion(claim)) throw new Error('the proof of the page does not hold');
  return formatProof({ index: INDEX, hashes, checkpoint: checkpoint(leaves, size) });
}

function stepRows(steps: readonly StepNode[]): string {
  return steps
    .filter(({ symbol }) =>
      ['e_dec', 'e_pre', 'E_gpu', 'E_it', 'E', 'U_gwp', 'X_gwp', 'gwp'].includes(symbol),
    )
    .map(
      ({ symbol, name, formula, value, unit }) =>
        `| \`${symbol}\` | ${name} | \`${formula}\` | ${value} | ${unit} |`,
    )
    .join('\n');
}

/** From the receipt to the pack. */
function afterwards({ example, degraded, revised, leaves, lineage, lineageBytes }: Life): string {
  const document = read(example);
  const later = read(revised);
  const grid = lineage.measurement!.used.find(({ type }) => type.includes('GridFactor'))!;
  const [figure] = grid.figures;
  const source = lineage.bibliography.find(({ id }) => id === figure!.sources![0])!;
  return `## 4. The promise

One statement writes the bytes (\`ledger_body\`) and the promise to integrate them (\`receipt_pending\`). Only then does the caller get the answer: who holds a receipt can count on it being there.

## 5. The leaf

The ledger worker gives it the next index of the organisation's log, ${INDEX}. Its hash is SHA-256 over a zero byte and the receipt's bytes:

\`\`\`
${hex(leaves[INDEX]!)}
\`\`\`

## 6. The checkpoint

A signed head of the log as it is with ${INDEX + 2} entries. Everything that was in it stays in every later one.

\`\`\`
${checkpoint(leaves, INDEX + 2).trimEnd()}
\`\`\`

## 7. The proof

\`GET /v1/receipts/${idOf(document)}/proof\`: the hashes that lead from the leaf to the root above.

\`\`\`
${proof(leaves, INDEX + 2).trimEnd()}
\`\`\`

## 8. The lineage

\`GET /v1/receipts/${idOf(document)}/lineage\`: ${lineageBytes.toLocaleString('en')} bytes of JSON-LD that put in full what the receipt pins by digest, ${lineage.measurement!.steps.length} steps, each with its formula, its inputs and where they came from. One of the figures:

| | |
| --- | --- |
| what | ${figure!.name}, ${grid.name} |
| value | ${figure!.value} ${figure!.unit} |
| source | ${source.text} |
| licence | ${source.license} |
| digest of the record | \`${grid.digest}\` |

It holds nothing that the signature does not pin: each record is hashed and each figure compared before a lineage is given out.

## 9. Degraded, and made good

The next request, at index ${INDEX + 1}, went to a model of which no size was on record. It was answered all the same, with a degraded receipt: \`${read(degraded).degradation!.code}\` at the stage \`${read(degraded).degradation!.stage}\`, asked for with the tier \`${read(degraded).degradation!.requestedTier}\`. The statement that committed it also wrote what is owed to it (\`recalculation\`).

Ten minutes later the catalogue states a size and is reloaded. The recalculation worker appends a new receipt at index ${INDEX + 2}; the old one stays as it is, and an idempotent repetition still returns it.

\`\`\`
id             ${later.id}
wasRevisionOf  ${later.wasRevisionOf!.id}
  digest       ${later.wasRevisionOf!.digest}
  leafIndex    ${later.wasRevisionOf!.leafIndex}
\`\`\`

## 10. The pack

An evidence pack over the range has the same bytes once more, one line each, in \`${shardPath(RECEIPTS, 0)}\`: \`docket verify\` rebuilds the root from them and compares it with the checkpoint. Nothing was copied, converted or summarised on the way.
`;
}

/** The page. The same code that issues, logs and explains receipts has made every value on it. */
export function receiptLifePage(): string {
  const life = live();
  const { example, lineage } = life;
  const document = read(example);
  const { credentialSubject: subject, measurement } = document;
  const [energy, gwp] = measurement!.result;
  return `# The life of a receipt

<!-- Written by dev/receipt-life.ts from the code itself; a test compares. Edit that. -->

One request, and everything that becomes of its receipt. Every value below is real: it is made by the code that issues, logs and explains receipts, from the example of [receipts.md](receipts.md), whose key is published, so that anybody can make the same bytes.

${DRAWING}

## 1. The request

\`POST /v1/chat/completions\` with the raw body of [request.json](../test/vectors/receipt/request.json), ${subject.inputTokens} tokens in and ${subject.outputTokens} out. Sixteen random bytes salt the digests of body and answer, so that they tell nobody anything without the receipt.

| | |
| --- | --- |
| \`requestDigest\` | \`${subject.requestDigest}\` |
| \`responseDigest\` | \`${subject.responseDigest}\` |
| started, ended | \`${subject.startedAt}\`, \`${subject.endedAt}\` |

## 2. The estimate

\`${measurement!.hadPlan.name}\` ${measurement!.hadPlan.version} computes from ${measurement!.used.length} records: ${measurement!.used.map(({ name, record }) => `\`${name}\`${record === undefined ? '' : ' (carried)'}`).join(', ')}. Those that no published factor set holds are carried by the receipt, so that \`docket recompute\` needs nothing else but the methodology.

| symbol | meaning | formula | value | unit |
| --- | --- | --- | --- | --- |
${stepRows(lineage.measurement!.steps)}

That is ${energy!.value} kWh (5-95 %: ${energy!.lower} to ${energy!.upper}) and ${gwp!.value} kgCO2e (${gwp!.lower} to ${gwp!.upper}), of data quality ${measurement!.dataQuality}.

## 3. The receipt

${Buffer.byteLength(example)} bytes of canonical JSON, signed at \`${document.validFrom}\`: [receipt.json](../test/vectors/receipt/receipt.json), shown in [receipts.md](receipts.md#an-example).

\`\`\`
id          ${document.id}
proofValue  ${document.proof!.proofValue}
\`\`\`

${afterwards(life)}
${STORED}`;
}

if (import.meta.main) writeFileSync(PAGE, receiptLifePage());
