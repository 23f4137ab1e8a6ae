/** Receipts that were edited, dropped, moved or doubled: both verifiers, which share no code, find it. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import {
  expectRefused,
  forge,
  receiptLines,
  GOOD_PACK,
  TRUST,
  FIRST,
  LAST,
  type Edit,
} from './forger.ts';
import { type ForgedPack, type Loose } from './tampering.ts';

describe('an untouched pack', () => {
  it('is good for both verifiers [evidence.forged-packs]', async () => {
    const didJson = readFileSync(TRUST, 'utf8');
    expect(await verifyPack(GOOD_PACK, { didJson, now: Date.now() })).toMatchObject({
      verdict: 'good',
    });
    const python = await verifyWithPython(GOOD_PACK, TRUST);
    expect(python).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^GOOD, except NOT CHECKED: page, lineage {2}100 receipts/),
    });
  });

  it('is still good when it was taken apart and put together again', async () => {
    const path = await forge(() => {}, 'nothing');
    expect(readFileSync(path).equals(readFileSync(GOOD_PACK))).toBe(true);
  });

  it('says what it is worth when its own keys are used', async () => {
    const verdict = await verifyPack(GOOD_PACK, { now: Date.now() });
    expect(verdict).toMatchObject({ verdict: 'intact', code: 'good' });
  });
});

const RECEIPT_EDITS: Record<string, Edit> = {
  'an edited receipt': (pack) =>
    receiptLines(pack, (lines) =>
      lines.with(7, lines[7]!.replace('"outputTokens":', '"outputTokens":1')),
    ),
  'a dropped receipt': (pack) => receiptLines(pack, (lines) => lines.toSpliced(30, 1)),
  'two swapped receipts': (pack) =>
    receiptLines(pack, (lines) => lines.with(3, lines[4]!).with(4, lines[3]!)),
  'a duplicated receipt': (pack) => receiptLines(pack, (lines) => lines.toSpliced(5, 0, lines[5]!)),
  'a receipt in the place of another': (pack) =>
    receiptLines(pack, (lines) => lines.with(9, lines[10]!)),
  'a truncated end': (pack) => receiptLines(pack, (lines) => lines.slice(0, -3)),
  'a truncated beginning': (pack) => receiptLines(pack, (lines) => lines.slice(3)),
};

describe.each(Object.entries(RECEIPT_EDITS))('%s is found', (_name, edit) => {
  it('by the checksums', async () => {
    await expectRefused(await forge(edit, 'nothing'), 'checksum_mismatch');
  });

  it('by the seal, when the checksums were made anew', async () => {
    await expectRefused(await forge(edit, 'checksums'), 'checksum_mismatch');
  });

  it('by signatures and ledger, when the pack was sealed again with the right key', async () => {
    const path = await forge(edit, 'seal');
    await expectRefused(path, [
      'receipt_invalid',
      'root_mismatch',
      'wrong_count',
      'revision_mismatch',
    ]);
  });
});

describe('a range that is made to fit', () => {
  const rename = (seal: Loose, first: number, last: number): void => {
    const { range, checkpoint } = seal.credentialSubject;
    Object.assign(range, { firstIndex: first, lastIndex: last, receipts: last - first + 1 });
    seal.credentialSubject.id = seal.credentialSubject.id.replace(
      /-\d+-\d+-at-\d+$/,
      `-${first}-${last}-at-${checkpoint.size}`,
    );
  };

  it('cannot lose its last receipts [evidence.forged-packs]', async () => {
    const path = await forge(
      (pack) => receiptLines(pack, (lines) => lines.slice(0, -3)),
      'seal',
      (seal) => rename(seal, FIRST, LAST - 3),
    );
    await expectRefused(path, 'root_mismatch');
  });

  it('cannot be moved along the ledger', async () => {
    const edit = (pack: ForgedPack): void => {
      const shard = pack.shard('receipts');
      const bytes = pack.files.get(shard)!;
      pack.files.delete(shard);
      pack.set(shard.replace(String(FIRST), String(FIRST + 4)), bytes);
      const companion = shard.replace('receipts', 'superseded');
      pack.set(companion.replace(String(FIRST), String(FIRST + 4)), pack.files.get(companion)!);
      pack.files.delete(companion);
    };
    const path = await forge(edit, 'seal', (seal) => rename(seal, FIRST + 4, LAST + 4));
    await expectRefused(path, ['root_mismatch', 'revision_mismatch']);
  });
});
