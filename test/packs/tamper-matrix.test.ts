/** What a forger can do to a pack, and that both verifiers, which share no code, find it. */
import { execFile } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { generateKeyPairSync } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyPack } from '../../cli/verify/verify-pack.ts';
import { createReceiptSigner } from '../../shared/adapters/signing/signer.ts';
import type { PackProblemCode } from '../../shared/domain/pack/problem.ts';
import { createTestDatabase } from '../support/database.ts';
import { PackLab } from '../support/packs.ts';
import { ForgedPack, type Loose, multihash, patchBytes, type Repair } from './tampering.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-tamper-'));
const lab = new PackLab(database.pool, directory);
const SCRIPT = new URL('../../shared/pack/verify.py', import.meta.url).pathname;
const GOOD_PACK = join(directory, 'good.zip');
const TRUST = join(directory, 'did.json');
const FIRST = 20;
const LAST = 119;

beforeAll(async () => {
  await lab.issue(60);
  await lab.integrate();
  const degraded = await lab.issue(10, 'degraded');
  await lab.issue(3, 'refused');
  await lab.integrate();
  const inside = await lab.revise(degraded.slice(0, 4));
  await lab.issue(60);
  await lab.integrate();
  await lab.revise([...degraded.slice(4, 7), inside[0]!]);
  await lab.issue(20);
  const size = await lab.integrate();
  await lab.pack(GOOD_PACK, { firstIndex: FIRST, lastIndex: LAST, checkpointSize: size });
  writeFileSync(TRUST, lab.documents.didDocument());
});

let made = 0;
const newPath = (): string => join(directory, `forged-${(made += 1)}.zip`);

interface PythonVerdict {
  code: number | null;
  output: string;
}

function verifyWithPython(pack: string, trust: string): Promise<PythonVerdict> {
  return new Promise((resolve) => {
    const child = execFile('python3', [SCRIPT, pack, '--trust', trust], (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, output: stdout + stderr }),
    );
  });
}

/** Both refuse, say so, and do not stumble. */
async function expectRefused(
  path: string,
  code: PackProblemCode | readonly PackProblemCode[],
  trust: string = TRUST,
): Promise<void> {
  const didJson = readFileSync(trust, 'utf8');
  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.place, verdict.message]).toEqual([
    typeof code === 'string' ? code : expect.toBeOneOf([...code]),
    expect.anything(),
    expect.anything(),
  ]);
  expect(verdict.good).toBe(false);
  const python = await verifyWithPython(path, trust);
  expect(python.output).toMatch(/^BAD {2}/);
  expect(python.code).toBe(1);
}

/** Forges a pack: the edit, then as much repair as the forger is capable of. */
async function forge(
  edit: (pack: ForgedPack) => void,
  repair: Repair,
  editSeal?: (seal: Loose) => void,
): Promise<string> {
  const pack = new ForgedPack(GOOD_PACK);
  edit(pack);
  if (repair === 'checksums') pack.repair();
  if (repair === 'seal') pack.repair(lab.signer('packs'), editSeal);
  const path = newPath();
  await pack.write(path);
  return path;
}

const receiptLines = (pack: ForgedPack, edit: (lines: string[]) => string[]): void =>
  pack.lines(pack.shard('receipts'), edit);

describe('an untouched pack', () => {
  it('is good for both verifiers', async () => {
    const didJson = readFileSync(TRUST, 'utf8');
    expect(await verifyPack(GOOD_PACK, { didJson, now: Date.now() })).toMatchObject({
      good: true,
      ownKeys: false,
    });
    const python = await verifyWithPython(GOOD_PACK, TRUST);
    expect(python).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^GOOD {2}100 receipts/),
    });
  });

  it('is still good when it was taken apart and put together again', async () => {
    const path = await forge(() => {}, 'nothing');
    expect(readFileSync(path).equals(readFileSync(GOOD_PACK))).toBe(true);
  });

  it('says what it is worth when its own keys are used', async () => {
    const verdict = await verifyPack(GOOD_PACK, { now: Date.now() });
    expect(verdict).toMatchObject({ good: true, ownKeys: true });
  });
});

type Edit = (pack: ForgedPack) => void;

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

  it('cannot lose its last receipts', async () => {
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
    };
    const path = await forge(edit, 'seal', (seal) => rename(seal, FIRST + 4, LAST + 4));
    await expectRefused(path, ['root_mismatch', 'revision_mismatch']);
  });
});

describe('what surrounds the receipts', () => {
  const cases: [string, Edit, Repair, PackProblemCode | PackProblemCode[]][] = [
    ['an extra file beside the bag’s', (p) => p.set('README.txt', 'x'), 'nothing', 'extra_file'],
    [
      'an extra file in the payload',
      (p) => p.set('data/receipts/x.ndjson', 'x'),
      'nothing',
      'extra_file',
    ],
    ['a sealed extra file', (p) => p.set('data/notes/x.txt', 'x'), 'seal', 'extra_file'],
    [
      'a sealed extra shard',
      (p) => p.set('data/receipts/extra.ndjson', 'x\n'),
      'seal',
      'extra_file',
    ],
    ['a missing file', (p) => p.files.delete('data/keys/jwks.json'), 'nothing', 'missing_file'],
    ['no manifest', (p) => p.files.delete('manifest-sha256.txt'), 'nothing', 'missing_file'],
    ['no seal', (p) => p.files.delete('evidence-pack.jsonld'), 'nothing', 'missing_file'],
    [
      'a manifest that leads elsewhere',
      (p) => p.set('manifest-sha256.txt', `${'0'.repeat(64)}  ../../etc/passwd\n`),
      'nothing',
      ['malformed_manifest', 'checksum_mismatch'],
    ],
    [
      'other instructions',
      (p) => p.set('VERIFY.md', 'Everything is fine.'),
      'checksums',
      'checksum_mismatch',
    ],
    ['another script', (p) => p.set('verify.py', 'print("GOOD")'), 'nothing', 'checksum_mismatch'],
  ];

  it.each(cases)('%s is found', async (_name, edit, repair, code) => {
    await expectRefused(await forge(edit, repair), code);
  });
});

describe('what receipts mean', () => {
  const context = (pack: ForgedPack): string =>
    [...pack.files.keys()].find((name) => name.startsWith('data/contexts/docket-receipt'))!;
  const swap = (pack: ForgedPack): void => {
    const name = context(pack);
    pack.set(name, pack.text(name).replaceAll('KiloW-HR', 'GigaW-HR'));
  };

  it('a swapped context is found, even when it was sealed', async () => {
    await expectRefused(await forge(swap, 'nothing'), 'checksum_mismatch');
    await expectRefused(await forge(swap, 'seal'), 'context_mismatch');
    const path = await forge(swap, 'seal', (seal) => {
      const resource = seal.relatedResource.find(({ id }: Loose) => id.includes('docket-receipt'));
      resource.digestMultibase = multihash(
        new ForgedPack(GOOD_PACK).files.get(context(new ForgedPack(GOOD_PACK)))!,
      );
    });
    await expectRefused(path, 'context_mismatch');
  });

  it('so is a swapped context of the W3C', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.set('data/contexts/credentials-v2.jsonld', '{"@context":{}}');
    await expectRefused(await forge(edit, 'seal'), 'context_mismatch');
  });

  it('a context left out is found', async () => {
    const path = await forge((pack) => pack.files.delete(context(pack)), 'seal');
    await expectRefused(path, ['context_mismatch', 'missing_file']);
  });

  it('a changed methodology is found, even when it was sealed', async () => {
    const name = 'data/methodologies/docket-1/1.0.0.json';
    const edit = (pack: ForgedPack): void =>
      pack.set(name, pack.text(name).replace('0.68625', '0.00068'));
    await expectRefused(await forge(edit, 'nothing'), 'checksum_mismatch');
    await expectRefused(await forge(edit, 'seal'), 'methodology_mismatch');
    const sealed = (seal: Loose): void => {
      const pack = new ForgedPack(GOOD_PACK);
      edit(pack);
      const resource = seal.relatedResource.find(({ id }: Loose) => id.includes('/methodologies/'));
      resource.digestMultibase = multihash(pack.files.get(name)!);
    };
    await expectRefused(await forge(edit, 'seal', sealed), 'methodology_mismatch');
  });

  it('a methodology left out, and one that nobody cites, are found', async () => {
    const name = 'data/methodologies/docket-1/1.0.0.json';
    await expectRefused(
      await forge((pack) => pack.files.delete(name), 'seal'),
      'methodology_mismatch',
    );
    const edit = (pack: ForgedPack): void => pack.set('data/methodologies/other/1.json', '{}');
    await expectRefused(await forge(edit, 'seal'), 'extra_file');
  });
});

describe('seal, totals and counts', () => {
  it.each<[string, (seal: Loose) => void, PackProblemCode | PackProblemCode[]]>([
    [
      'larger totals',
      (s) => (s.credentialSubject.totals.result[1].value = '999'),
      'totals_mismatch',
    ],
    [
      'smaller totals',
      (s) => (s.credentialSubject.totals.result[1].value = '0.000001'),
      'totals_mismatch',
    ],
    [
      'uncovered ones called covered',
      (s) => {
        s.credentialSubject.totals.covered += 1;
        s.credentialSubject.totals.uncovered -= 1;
      },
      'totals_mismatch',
    ],
    ['fewer tokens', (s) => (s.credentialSubject.totals.inputTokens -= 1), 'totals_mismatch'],
    [
      'another count of receipts',
      (s) => (s.credentialSubject.range.receipts += 1),
      'seal_contradiction',
    ],
    [
      'another count of revisions',
      (s) => (s.credentialSubject.range.revisions += 1),
      'totals_mismatch',
    ],
    ['another organisation', (s) => (s.credentialSubject.organisation += 'X'), 'wrong_log'],
    ['another log', (s) => (s.credentialSubject.checkpoint.log += 'X'), 'checkpoint_invalid'],
    [
      'another root',
      (s) => (s.credentialSubject.checkpoint.root = multihash(Buffer.from('x'))),
      'seal_contradiction',
    ],
    [
      'another size',
      (s) => (s.credentialSubject.checkpoint.size += 1),
      ['seal_contradiction', 'checkpoint_invalid'],
    ],
  ])('%s under the right seal are found', async (_name, edit, code) => {
    await expectRefused(await forge(() => {}, 'seal', edit), code);
  });

  it('an edited seal is found', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.set(
        'evidence-pack.jsonld',
        pack.text('evidence-pack.jsonld').replace('"covered":', '"covered":1'),
      );
    await expectRefused(await forge(edit, 'checksums'), ['seal_invalid', 'seal_contradiction']);
  });
});

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
    await expectRefused(await forge(edit, 'seal'), ['root_mismatch', 'revision_mismatch']);
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
    const did = JSON.parse(readFileSync(TRUST, 'utf8')) as Loose;
    edit(did);
    const path = join(directory, `did-${(made += 1)}.json`);
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
        const { proof: _, ...receipt } = JSON.parse(lines[2]!) as Loose;
        return lines.with(2, stranger().signCredential(receipt).text);
      });
    await expectRefused(await forge(edit, 'seal'), 'unknown_key');
  });

  it('receipts by a revoked key are refused', async () => {
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
    await expectRefused(GOOD_PACK, 'key_not_authorised', trust);
  });

  it('another issuer’s keys are refused', async () => {
    const trust = trustWith((did) => {
      const text = JSON.stringify(did).replaceAll('gateway.example', 'attacker.example');
      Object.assign(did, JSON.parse(text));
    });
    await expectRefused(GOOD_PACK, 'unknown_key', trust);
  });
});

describe('the archive', () => {
  it('zip slip: a name that leads out is refused', async () => {
    for (const [from, to] of [
      ['data/keys/jwks.json', '../../../evil.json/'.padEnd(19, 'x').slice(0, 19)],
      ['data/keys/jwks.json', '/etc/cron.d/evil.sh'],
      ['data/keys/jwks.json', 'data\\keys\\jwks.json'],
      ['data/keys/jwks.json', 'data//keys/jwks.jso'],
      ['data/keys/jwks.json', 'data/./keys/jwks.js'],
      ['data/keys/jwks.json', 'data/keys/jwk\0.json'],
    ] as const) {
      const path = await forge(() => {}, 'nothing');
      const { folder } = new ForgedPack(GOOD_PACK);
      patchBytes(path, `${folder}/${from}`, `${folder}/${to}`);
      await expectRefused(path, 'unsafe_path');
    }
  });

  it('two files of one name are refused, also when they differ only in case', async () => {
    const pack = new ForgedPack(GOOD_PACK);
    const twice = newPath();
    await pack.write(twice, [...pack.files.keys(), 'data/keys/did.json']);
    await expectRefused(twice, 'duplicate_name');
    pack.set('data/keys/DID.json', 'x');
    const folded = newPath();
    await pack.write(folded);
    await expectRefused(folded, 'duplicate_name');
  });

  it('a second folder is refused', async () => {
    const path = await forge(() => {}, 'nothing');
    const { folder } = new ForgedPack(GOOD_PACK);
    patchBytes(path, `${folder}/verify.py`, `${folder.replace('evidence', 'evidencx')}/verify.py`);
    await expectRefused(path, 'extra_file');
  });

  it('a bomb is refused: nothing that is compressed is read', async () => {
    const path = newPath();
    writeFileSync(path, bomb());
    await expectRefused(path, ['compressed_entry', 'malformed_zip']);
  });

  it('sizes that cannot be are refused', async () => {
    // The directory of the last file: both sizes become four gigabytes less two bytes.
    const bytes = readFileSync(GOOD_PACK);
    const central = bytes.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    bytes.writeUInt32LE(0xffff_fffe, central + 20);
    bytes.writeUInt32LE(0xffff_fffe, central + 24);
    const path = newPath();
    writeFileSync(path, bytes);
    await expectRefused(path, ['absurd_size', 'malformed_zip']);
  });

  it('bytes before, between, after and behind are refused', async () => {
    const good = readFileSync(GOOD_PACK);
    const variants = {
      appended: Buffer.concat([good, Buffer.from('x')]),
      prepended: Buffer.concat([Buffer.from('x'), good]),
      cut: good.subarray(0, -1),
      half: good.subarray(0, good.length / 2),
      empty: Buffer.alloc(0),
      text: Buffer.from('PK, but not really'),
    };
    for (const bytes of Object.values(variants)) {
      const path = newPath();
      writeFileSync(path, bytes);
      await expectRefused(path, ['not_a_zip', 'malformed_zip']);
    }
    const commented = newPath();
    writeFileSync(commented, good);
    appendFileSync(commented, 'a comment');
    await expectRefused(commented, ['not_a_zip', 'malformed_zip']);
  });
});

/** A small archive of one deflated file of 100 MB. */
function bomb(): Buffer {
  const name = Buffer.from('evidence-pack-x/bagit.txt');
  const content = deflateRawSync(Buffer.alloc(100_000_000));
  const local = Buffer.alloc(30);
  local.write('PK\u0003\u0004', 'latin1');
  local.writeUInt16LE(8, 8);
  local.writeUInt32LE(content.length, 18);
  local.writeUInt32LE(100_000_000, 22);
  local.writeUInt16LE(name.length, 26);
  const central = Buffer.alloc(46);
  central.write('PK\u0001\u0002', 'latin1');
  central.writeUInt16LE(8, 10);
  central.writeUInt32LE(content.length, 20);
  central.writeUInt32LE(100_000_000, 24);
  central.writeUInt16LE(name.length, 28);
  const offset = local.length + name.length + content.length;
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(central.length + name.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([local, name, content, central, name, end]);
}
