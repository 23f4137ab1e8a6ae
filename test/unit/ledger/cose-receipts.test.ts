import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exampleReceipt } from '#lab/cose/example.ts';
import { ed25519Verifier } from '#primitives';
import { type Cbor, type CborTag, decodeCbor, encodeCbor } from '#shared/kernel/cbor.ts';
import {
  type CoseReceipt,
  coseReceiptHolds,
  formatCoseReceipt,
  isCoseSign1,
  parseCoseReceipt,
} from '#shared/ledger/cose-receipts.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { makeCheckpointSigner } from '#test/support/ledger.ts';

/** What `npm run cose -- --record` wrote after other programs had verified it. */
const recorded = JSON.parse(
  readFileSync(new URL('../../vectors/cose/inclusion.json', import.meta.url), 'utf8'),
) as { entry: string; publicKey: string; receipt: string };
const bytes = Uint8Array.from(Buffer.from(recorded.receipt, 'hex'));
const entry = Buffer.from(recorded.entry);
const verify = ed25519Verifier(Buffer.from(recorded.publicKey, 'hex'));
const receipt = parseCoseReceipt(bytes);

const isTaken = (source: Uint8Array): boolean => {
  try {
    return coseReceiptHolds(parseCoseReceipt(source), entry, verify);
  } catch (error) {
    expect(error).toMatchObject({ code: 'cose_receipt' });
    return false;
  }
};

describe('a COSE receipt of inclusion', () => {
  it('has the bytes that programs which are not ours have verified, and is taken [evidence.cose]', () => {
    expect(Buffer.from(exampleReceipt().receipt).toString('hex')).toBe(recorded.receipt);
    expect(isCoseSign1(bytes)).toBe(true);
    expect(receipt).toMatchObject({
      issuer: 'did:web:gateway.example',
      log: 'gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
      size: 5,
      index: 2,
    });
    expect(receipt.kid).toMatch(/^did:web:gateway\.example#[\w-]{43}$/);
    expect(isTaken(bytes)).toBe(true);
    expect(isTaken(formatCoseReceipt(receipt))).toBe(true);
  });

  it('does not hold for another entry, nor by another key', () => {
    expect(coseReceiptHolds(receipt, Buffer.from(`${recorded.entry} `), verify)).toBe(false);
    const other = ed25519Verifier(makeCheckpointSigner().publicKey);
    expect(coseReceiptHolds(receipt, entry, other)).toBe(false);
  });

  it.each<[string, Partial<CoseReceipt>]>([
    // The path of entry 2 is as long in a tree of six, and leads to the same root.
    ['size', { size: 6 }],
    ['index', { index: 3 }],
    ['path', { hashes: receipt.hashes.slice(0, 2) }],
    ['order of its path', { hashes: receipt.hashes.toReversed() }],
    ['root, by a hash of the path', { hashes: receipt.hashes.with(2, new Uint8Array(32)) }],
    ['signature', { signature: receipt.signature.with(0, receipt.signature[0]! ^ 1) }],
  ])('does not hold with another %s', (_what, change) => {
    expect(isTaken(formatCoseReceipt({ ...receipt, ...change }))).toBe(false);
  });

  it('is refused with any byte of it changed, taken away or put behind it [evidence.cose]', () => {
    forAll(
      [fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })],
      { numRuns: runs(1_000) },
      (at, mask) => {
        expect(isTaken(bytes.with(at, bytes[at]! ^ mask))).toBe(false);
        expect(isTaken(bytes.slice(0, at))).toBe(false);
        expect(isTaken(Uint8Array.from([...bytes, mask]))).toBe(false);
      },
    );
  });

  it('is refused in a form that is not deterministic, also where its signature would fit', () => {
    const [length, ...rest] = bytes.slice(2);
    expect(length).toBe(0x58);
    // The protected header with its length in two bytes instead of one: the same item.
    const longer = Uint8Array.from([...bytes.slice(0, 2), 0x59, 0x00, ...rest]);
    expect(isTaken(longer)).toBe(false);
  });

  const parts = (decodeCbor(bytes) as CborTag).value as readonly Cbor[];
  const header = decodeCbor(receipt.protectedHeader) as ReadonlyMap<number, Cbor>;
  const proofIn = (path: Cbor): Cbor => new Map([[396, new Map([[-1, [encodeCbor(path)]]])]]);
  const withPart = (at: number, part: Cbor): Cbor => ({ tag: 18, value: parts.with(at, part) });
  const withHeader = (label: number, value: Cbor): Cbor =>
    withPart(0, encodeCbor(new Map([...header, [label, value]])));
  it.each<[string, Cbor]>([
    ['no tag', parts],
    ['another tag', { tag: 98, value: parts }],
    ['a payload', withPart(2, new Uint8Array(32))],
    ['another algorithm', withHeader(1, -7)],
    ['another tree', withHeader(395, 2)],
    ['a signed size that is a text', withHeader(-65_538, '5')],
    ['a critical header', withHeader(2, [15])],
    ['a key that is no text', withHeader(4, Uint8Array.of(255))],
    ['claims without a subject', withHeader(15, new Map([[1, receipt.issuer]]))],
    ['a short signature', withPart(3, new Uint8Array(63))],
    ['no proof', withPart(1, new Map())],
    [
      'two proofs',
      withPart(1, new Map([[396, new Map([[-1, [new Uint8Array(1), new Uint8Array(1)]]])]])),
    ],
    ['a path without hashes', withPart(1, proofIn([1, 0, []]))],
    [
      'a path of too many hashes',
      withPart(1, proofIn([5, 2, Array.from({ length: 64 }, () => new Uint8Array(32))])),
    ],
    ['a hash of another length', withPart(1, proofIn([5, 2, [new Uint8Array(31)]]))],
    ['an entry outside of its tree', withPart(1, proofIn([5, 5, [...receipt.hashes]]))],
  ])('with %s it is refused before anything is verified', (_what, item) => {
    expect(() => parseCoseReceipt(encodeCbor(item))).toThrow(
      expect.objectContaining({ code: 'cose_receipt' }),
    );
  });

  it('is refused by its length before it is read', () => {
    expect(() => parseCoseReceipt(new Uint8Array(8_193))).toThrow('longer');
  });
});
