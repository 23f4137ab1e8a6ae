/** Revisions, signed heads and keys. */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { signedReceipt } from '#test/support/signed-receipt.ts';
import {
  expectRefused,
  forge,
  receiptLines,
  newPath,
  directory,
  lab,
  GOOD_PACK,
  TRUST,
  nextNumber,
} from './forger.ts';
import { ForgedPack, type Loose } from './tampering.ts';

describe('revisions', () => {
  it('one left out is found', async () => {
    const edit = (pack: ForgedPack): void => {
      for (const folder of ['revisions', 'revision-proofs']) {
        pack.lines(pack.shard(folder), (lines) => lines.slice(0, -1));
      }
    };
    const fewer = (seal: Loose): void => void (seal.credentialSubject.range.revisions -= 1);
    await expectRefused(await forge(edit, 'seal', fewer), 'revision_missing');
  });

  it('all of them left out is found', async () => {
    const edit = (pack: ForgedPack): void => {
      for (const folder of ['revisions', 'revision-proofs']) pack.files.delete(pack.shard(folder));
    };
    const none = (seal: Loose): void => void (seal.credentialSubject.range.revisions = 0);
    await expectRefused(await forge(edit, 'seal', none), 'revision_missing');
  });

  it('hiding that a receipt was revised is found', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.lines(pack.shard('superseded'), (lines) => lines.slice(1));
    await expectRefused(await forge(edit, 'seal'), 'revision_mismatch');
  });

  it('claiming that a receipt was revised is found', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.lines(pack.shard('superseded'), (lines) => ['{"by":100,"index":21}', ...lines]);
    await expectRefused(await forge(edit, 'seal'), [
      'revision_missing',
      'revision_mismatch',
      'totals_mismatch',
    ]);
  });

  it('a proof for another place is found', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.lines(pack.shard('revision-proofs'), (lines) =>
        lines.with(0, lines[0]!.replace(/"index":\d+/, '"index":141')),
      );
    await expectRefused(await forge(edit, 'seal'), [
      'root_mismatch',
      'revision_mismatch',
      'wrong_count',
    ]);
  });
});

describe('the ledger', () => {
  const CHECKPOINT = 'data/ledger/checkpoint.txt';

  it('a head that was edited, or is another log’s, is found', async () => {
    const larger = (pack: ForgedPack): void =>
      pack.set(CHECKPOINT, pack.text(CHECKPOINT).replace(/\n\d+\n/, '\n999\n'));
    await expectRefused(await forge(larger, 'seal'), 'checkpoint_invalid');
    const other = (pack: ForgedPack): void =>
      pack.set(CHECKPOINT, pack.text(CHECKPOINT).replaceAll('/log/org_01', '/log/org_02'));
    await expectRefused(await forge(other, 'seal'), 'checkpoint_invalid');
  });

  it('hostile notes are refused', async () => {
    for (const text of ['', '\n\n', 'x\n\n— x y\n', '\0'.repeat(200), '— '.repeat(50_000)]) {
      await expectRefused(
        await forge((pack) => pack.set(CHECKPOINT, text), 'seal'),
        'checkpoint_invalid',
      );
    }
  });

  it('a signed head within the range that contradicts the receipts is found', async () => {
    const edit = (pack: ForgedPack): void => {
      const name = pack.shard('ledger/checkpoints');
      pack.lines(name, (lines) => {
        const [first, second] = lines.map(
          (line) => JSON.parse(line) as { note: string; size: number },
        );
        // The note of one size under another: signed, and not true of it.
        return [JSON.stringify({ note: second!.note, size: first!.size }), ...lines.slice(1)];
      });
    };
    await expectRefused(await forge(edit, 'seal'), 'checkpoint_invalid');
  });

  it('another left of the range is found', async () => {
    const name = 'data/ledger/left-frontier.txt';
    const edit = (pack: ForgedPack): void => pack.lines(name, (lines) => lines.toReversed());
    await expectRefused(await forge(edit, 'seal'), 'root_mismatch');
    await expectRefused(await forge((pack) => pack.set(name, ''), 'seal'), 'root_mismatch');
  });

  it('another way to the head is found', async () => {
    const name = 'data/ledger/consistency.txt';
    const edit = (pack: ForgedPack): void => pack.lines(name, (lines) => lines.slice(1));
    await expectRefused(await forge(edit, 'seal'), 'root_mismatch');
  });
});

describe('keys', () => {
  const stranger = () => {
    const { privateKey } = generateKeyPairSync('ed25519');
    const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' });
    return createReceiptSigner({ privateKeyPem, did: lab.issuer.did });
  };
  const trustWith = (edit: (did: Loose) => void): string => {
    const did = JSON.parse(readFileSync(TRUST, 'utf8'));
    edit(did);
    const path = join(directory, `did-${nextNumber()}.json`);
    writeFileSync(path, JSON.stringify(did));
    return path;
  };
  const revoke =
    (kid: string) =>
    (did: Loose): void => {
      const method = did.verificationMethod.find(({ id }: Loose) => id === kid);
      method.revoked = '2026-11-20T12:00:00.000Z';
    };

  it('a seal by an unknown key is refused', async () => {
    const pack = new ForgedPack(GOOD_PACK);
    pack.repair(stranger());
    const path = newPath();
    await pack.write(path);
    await expectRefused(path, 'unknown_key');
  });

  it('a receipt by an unknown key is refused', async () => {
    const edit = (pack: ForgedPack): void =>
      receiptLines(pack, (lines) => {
        const { proof: _, ...receipt } = JSON.parse(lines[2]!);
        return lines.with(2, signedReceipt(stranger(), receipt));
      });
    await expectRefused(await forge(edit, 'seal'), 'unknown_key');
  });

  it('receipts by a revoked key are refused [evidence.forged-packs]', async () => {
    const trust = trustWith(revoke(lab.signer('receipts').kid));
    await expectRefused(GOOD_PACK, 'key_revoked', trust);
  });

  it('a seal by a revoked key is refused', async () => {
    await expectRefused(GOOD_PACK, 'key_revoked', trustWith(revoke(lab.signer('packs').kid)));
  });

  it('a head by a revoked key is refused', async () => {
    const trust = trustWith((did) => {
      for (const { id } of did.verificationMethod) {
        if (!did.assertionMethod.includes(id)) revoke(id)(did);
      }
    });
    await expectRefused(GOOD_PACK, 'key_revoked', trust);
  });

  it('a key that may not assert is refused', async () => {
    const kid = lab.signer('receipts').kid;
    const trust = trustWith((did) => {
      did.assertionMethod = did.assertionMethod.filter((id: string) => id !== kid);
    });
    await expectRefused(GOOD_PACK, ['key_not_authorised', 'keys_mismatch'], trust);
  });

  it('another issuer’s keys are refused', async () => {
    const trust = trustWith((did) => {
      const text = JSON.stringify(did).replaceAll('gateway.example', 'attacker.example');
      Object.assign(did, JSON.parse(text));
    });
    await expectRefused(GOOD_PACK, 'unknown_key', trust);
  });
});
