import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { proofSteps } from '#cli/verify/proof-steps.ts';
import { formatAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { type Checkpoint, formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { headsTreeOf, saltOf } from '#shared/ledger/heads-tree.ts';
import { formatNote, noteKeyHash } from '#shared/ledger/notes.ts';
import { formatProof, parseProof } from '#shared/ledger/proof-text.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { didDocument } from '#shared/receipts/signing/publication.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { makeCheckpointSigner } from '#test/support/ledger.ts';
import { INPUTS, newIssuer, PUBLIC_URL, SIGNED_AT } from '../receipts/samples.ts';
import { referenceLeaf, referenceLeaves, referencePath, referenceRoot } from './reference-tree.ts';

const { key, signer } = newIssuer();
const heads = makeCheckpointSigner();
const ofHeads = { ...key, purpose: 'checkpoints', thumbprint: 'heads', publicKey: heads.publicKey };
const keys = trustedKeysOf(JSON.stringify(didDocument([key, ofHeads as typeof key], PUBLIC_URL)));
const NOW = SIGNED_AT + 60_000;

const signedHead = (tree: Omit<Checkpoint, 'extensions'>, by = heads): string => {
  const text = formatCheckpoint({ ...tree, extensions: [] });
  const keyHash = noteKeyHash(tree.origin, by.publicKey);
  const signature = by.sign(new TextEncoder().encode(text));
  return formatNote({ text, signatures: [{ name: tree.origin, keyHash, signature }] });
};

/** A receipt as entry 4 of 11, the head of which is anchored as entry 2 of 7. */
function filesOf({ by = heads, anchorLog = 'gateway.example/anchor' } = {}) {
  const input = INPUTS['full']!;
  const receipt = signer.sign(buildReceipt(input));
  const { inclusionPromise } = JSON.parse(receipt) as { inclusionPromise?: { log: string } };
  const origin = inclusionPromise?.log ?? 'gateway.example/log/org_a';
  const leaves = referenceLeaves(11).with(4, referenceLeaf(receipt));
  const checkpoint = signedHead({ origin, size: 11, root: referenceRoot(leaves) }, by);
  const proof = formatProof({ index: 4, hashes: referencePath(4, leaves), checkpoint });
  const secret = randomBytes(32);
  const tree = headsTreeOf(secret, [{ slot: 3, note: checkpoint }]);
  const entry = formatAnchorEntry({
    type: 'heads',
    at: '2026-11-20T09:38:04.123Z',
    root: tree.root,
  });
  const entries = referenceLeaves(7).with(2, referenceLeaf(entry));
  const anchorHead = { origin: anchorLog, size: 7, root: referenceRoot(entries) };
  const anchor = formatAnchorProof({
    checkpoint,
    slot: 3,
    salt: saltOf(secret, 3),
    path: tree.path(3),
    entry,
    proof: formatProof({
      index: 2,
      hashes: referencePath(2, entries),
      checkpoint: signedHead(anchorHead),
    }),
    timestamps: [],
  });
  return { receipt, proof, anchor };
}

describe('the steps of a proof', () => {
  it('lead from a receipt over each sibling to the signed head and to the anchor, each with what it was computed from', () => {
    const steps = proofSteps(filesOf(), keys, NOW);
    // What is named and not checked is not said to hold.
    expect(steps.filter(({ holds }) => holds !== true)).toMatchObject([
      { title: 'Who else has seen it', holds: null },
    ]);
    const titles = steps.map(({ title }) => title.replace(/ \d+ of/, ''));
    expect([...new Set(titles)]).toEqual([
      'Signature of the receipt',
      'Leaf of the receipt',
      'Sibling 4 in the ledger',
      'Root of the ledger',
      'Signed head of the ledger',
      'Leaf of the signed head',
      'Sibling 20 in the heads of all ledgers',
      'Root of the heads of all ledgers',
      'Leaf of the anchor’s entry',
      'Sibling 3 in the anchor log',
      'Root of the anchor log',
      'Signed head of the anchor log',
      'Who else has seen it',
    ]);
    // Each node goes into the next one.
    const nodes = steps.filter(({ title }) => title.startsWith('Sibling'));
    const inLedger = nodes.slice(0, 4).map(({ facts }) => facts);
    for (const [i, { left, right }] of inLedger.slice(1).entries())
      expect([left, right]).toContain(inLedger[i]!['together']);
  });

  it('end at the first that does not hold: another receipt, another path, a head by another key, the anchor of another head', () => {
    const files = filesOf();
    const last = (changed: Partial<typeof files>) =>
      proofSteps({ ...files, ...changed }, keys, NOW).at(-1);
    const wrongReceipt = files.receipt.replace(/"validFrom":"2/, '"validFrom":"1');
    expect(last({ receipt: wrongReceipt })).toMatchObject({
      title: 'Signature of the receipt',
      holds: false,
    });
    const index = files.proof.replace('index 4', 'index 5');
    expect(last({ proof: index })).toMatchObject({ title: 'Root of the ledger', holds: false });
    const stranger = filesOf({ by: makeCheckpointSigner() });
    expect(last(stranger)).toMatchObject({ title: 'Signed head of the ledger', holds: false });
    const slot = files.anchor.replace('"slot": 3', '"slot": 2');
    expect(last({ anchor: slot })).toMatchObject({
      title: 'Root of the heads of all ledgers',
      holds: false,
    });
    const elsewhere = filesOf({ anchorLog: 'gateway.example/audit/org_a' });
    expect(proofSteps(elsewhere, keys, NOW).at(-1)).toMatchObject({
      title: 'Signed head of the anchor log',
      holds: false,
    });
    const older = formatProof({ ...parseProof(files.proof), index: 0, hashes: [] });
    expect(last({ proof: older })).toMatchObject({ title: 'Root of the ledger', holds: false });
    expect(last({ proof: 'no proof' })).toMatchObject({ title: 'Reading the proof', holds: false });
  });
});
