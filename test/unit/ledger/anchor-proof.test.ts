import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import example from '#api/docs/examples/anchor.json' with { type: 'json' };
import { verifyEd25519 } from '#shared/receipts/signing/key-objects.ts';
import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import {
  checkAnchorProof,
  formatAnchorProof,
  parseAnchorProof,
} from '#shared/ledger/anchor-proof.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import { MalformedLedgerText, type SignatureCheck, signerOf } from '#shared/ledger/notes.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const text = `${JSON.stringify(example.proof, null, 2)}\n`;
const keyOf = (base64: string): SignatureCheck => ({
  publicKeys: [new Uint8Array(Buffer.from(base64, 'base64'))],
  verify: verifyEd25519,
});

describe('the documented anchor proof', () => {
  it('the documented anchor proof holds, and both notes are signed by the keys it names', () => {
    const proof = parseAnchorProof(text);
    expect(formatAnchorProof(proof)).toBe(text);
    const shown = checkAnchorProof(proof);
    const { checkpoints, anchor } = example.publicKeys;
    expect(signerOf(shown.headNote, keyOf(checkpoints))).not.toBe(null);
    expect(signerOf(shown.anchorNote, keyOf(anchor))).not.toBe(null);
    expect(signerOf(shown.anchorNote, keyOf(checkpoints))).toBe(null);
  });

  it('the documented anchor proof can be followed with nothing but SHA-256', () => {
    const { checkpoint, slot, salt, path, entry } = example.proof;
    const sha256 = (...parts: Uint8Array[]): Buffer =>
      hash('sha256', Buffer.concat(parts), 'buffer');
    const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
    const signed = checkpoint.slice(0, checkpoint.indexOf('\n\n') + 1);
    let node = sha256(Buffer.of(0), bytes(salt), Buffer.from(signed));
    path.forEach((sibling, height) => {
      const isRight = Math.floor(slot / 2 ** height) % 2 === 1;
      const pair = isRight ? [bytes(sibling), node] : [node, bytes(sibling)];
      node = sha256(Buffer.of(1), ...pair);
    });
    expect(node.toString('base64')).toBe((JSON.parse(entry) as { root: string }).root);
  });

  it('the documented key event holds too', () => {
    const { entry, index, proof } = example.keyEvent;
    expect(parseAnchorEntry(entry)).toMatchObject({ event: 'added', purpose: 'anchor' });
    const parsed = parseProof(proof);
    expect(parsed.index).toBe(index);
    expect(proofHolds(parsed, leafHash(Buffer.from(entry)))).toBe(true);
  });

  it('an anchor proof with any change is refused, and never crashes its reader', () => {
    const fields = Object.keys(example.proof);
    forAll([fc.constantFrom(...fields), fc.jsonValue()], (field, value) => {
      const changed = JSON.stringify({ ...example.proof, [field]: value });
      fc.pre(JSON.stringify(value) !== JSON.stringify(example.proof[field as 'slot']));
      fc.pre(!(field === 'timestamps' && Array.isArray(value)));
      expect(() => checkAnchorProof(parseAnchorProof(changed))).toThrow(MalformedLedgerText);
    });
    forAll(
      [fc.nat({ max: text.length - 1 }), fc.constantFrom('A', '"', '\\', '0')],
      (at, letter) => {
        const changed = text.slice(0, at) + letter + text.slice(at + 1);
        thrownBy(MalformedLedgerText, () => checkAnchorProof(parseAnchorProof(changed)));
      },
    );
  });
});
