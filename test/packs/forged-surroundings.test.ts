/** Files, contexts, methodologies, totals: what gives receipts their meaning cannot be changed either. */
import { readFileSync } from 'node:fs';
import { RECEIPT_CONTEXT_NAME } from '#shared/receipts/context.ts';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import type { PackProblemCode } from '#shared/packs/problem.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { expectRefused, forge, GOOD_PACK, TRUST, type Edit } from './forger.ts';
import { ForgedPack, type Loose, multihash, type Repair } from './tampering.ts';

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
  const context = (): string => `data/contexts/${RECEIPT_CONTEXT_NAME}`;
  const swap = (pack: ForgedPack): void => {
    const name = context();
    pack.set(name, pack.text(name).replaceAll('KiloW-HR', 'GigaW-HR'));
  };

  it('a swapped context is found, even when it was sealed', async () => {
    await expectRefused(await forge(swap, 'nothing'), 'checksum_mismatch');
    await expectRefused(await forge(swap, 'seal'), 'context_mismatch');
    const path = await forge(swap, 'seal', (seal) => {
      const resource = seal.relatedResource.find(({ id }: Loose) => id.includes('docket-receipt'));
      resource.digestMultibase = multihash(new ForgedPack(GOOD_PACK).files.get(context())!);
    });
    await expectRefused(path, 'context_mismatch');
  });

  it('so is a swapped context of the W3C', async () => {
    const edit = (pack: ForgedPack): void =>
      pack.set('data/contexts/credentials-v2.jsonld', '{"@context":{}}');
    await expectRefused(await forge(edit, 'seal'), 'context_mismatch');
  });

  it('a context left out is found', async () => {
    const path = await forge((pack) => pack.files.delete(context()), 'seal');
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

  it('a methodology left out, and one that no receipt cites, are found', async () => {
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
    [
      'fewer tokens',
      (s) => (s.credentialSubject.totals.coveredInputTokens -= 1),
      'totals_mismatch',
    ],
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
    [
      'another organisation',
      (s) => (s.credentialSubject.organisation += 'X'),
      'seal_contradiction',
    ],
    ['another log', (s) => (s.credentialSubject.checkpoint.log += 'X'), 'seal_contradiction'],
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

describe('a format of packs that is not known', () => {
  it('is judged by neither verifier, and each says so in one line', async () => {
    const format = 'docket-evidence-pack/2';
    const path = await forge(
      () => {},
      'seal',
      (seal) => void (seal.credentialSubject.format = format),
    );
    const didJson = readFileSync(TRUST, 'utf8');
    const { verdict, code, message } = await verifyPack(path, { didJson, now: Date.now() });
    expect([verdict, code]).toEqual(['cannot_judge', 'unknown_format']);
    const python = await verifyWithPython(path, TRUST);
    expect(python.code).toBe(2);
    const said = python.output.trimEnd();
    expect(said).toMatch(/^CANNOT JUDGE {2}/);
    for (const line of [message, said]) {
      expect(line).toContain(format);
      expect(line).not.toContain('\n');
    }
  });
});
