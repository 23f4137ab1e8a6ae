import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { packContextName, packIssuer } from '#shared/packs/pack-context.ts';
import { parseSeal, sealDocument } from '#shared/packs/seal.ts';
import { SEAL_FORMAT, type SealDocument } from '#shared/packs/seal-format.ts';
import { expandedBy, namesIn, offline, termsIn } from '#test/support/linked-data.ts';
import { packName, TAG_FILES } from '#shared/packs/layout.ts';
import { bagInfo, formatManifest, parseManifest } from '#shared/packs/manifest.ts';
import { PackProblem, type PackProblemCode } from '#shared/packs/problem.ts';
import { PackTotals } from '#shared/packs/totals.ts';
import { digestOf, newIssuer } from '#test/unit/receipts/samples.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

type Loose = ReturnType<typeof JSON.parse>;
const ORG = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF';
const { signer } = newIssuer();

function seal(edit: (document: Loose) => void = () => {}): string {
  const document: SealDocument = sealDocument({
    issuer: packIssuer('https://gateway.example'),
    orgId: ORG,
    organisation: `https://gateway.example/organisations/${ORG}`,
    log: `gateway.example/log/${ORG}`,
    range: { firstIndex: 3, lastIndex: 8, checkpointSize: 20 },
    root: digestOf('root'),
    at: '2026-11-20T09:38:06.007Z',
    revisions: 1,
    superseded: 2,
    signedHeads: 1,
    anchor: {
      headSize: 12,
      keyEvents: 4,
      keyHeads: 1,
      log: 'gateway.example/anchor',
      root: multihashOf(digestOf('anchor'), 'root'),
      size: 30,
      timestamps: 1,
      type: 'PackAnchor',
    },
    totals: new PackTotals().total().document(),
    lineage: { described: 4, documents: 2, type: 'PackLineage', undescribed: 0 },
    files: new Map(TAG_FILES.map((name) => [name, digestOf(name)])),
    resources: new Map([['https://www.w3.org/ns/credentials/v2', digestOf('context')]]),
  });
  edit(document);
  return signer.signCredential({ ...document });
}

const codeOf = (work: () => unknown): PackProblemCode | 'none' =>
  thrownBy(PackProblem, work)?.code ?? 'none';

describe('a seal', () => {
  it('a seal reads back as it was written', () => {
    const { credentialSubject, issuer } = parseSeal(seal(), 'seal');
    expect(issuer).toBe('did:web:gateway.example');
    expect(credentialSubject.range).toEqual({
      firstIndex: 3,
      lastIndex: 8,
      receipts: 6,
      revisions: 1,
      signedHeads: 1,
      superseded: 2,
      type: 'LedgerRange',
    });
    expect(credentialSubject.id).toMatch(
      new RegExp(`/${packName(ORG, { firstIndex: 3, lastIndex: 8, checkpointSize: 20 })}$`),
    );
  });

  it('a seal means as linked data what its description says', async () => {
    const { proof: _, ...document } = JSON.parse(seal());
    const [expanded] = await jsonld.expand(document, { safe: true, documentLoader: offline });
    expect(expanded).toEqual(expandedBy(SEAL_FORMAT, document));
  });

  it('the context of a seal defines nothing else', () => {
    const context = JSON.parse(contextDocument(packContextName())!.toString());
    const described = namesIn(SEAL_FORMAT);
    expect(termsIn(context['@context']).filter((term) => !described.has(term))).toEqual([]);
  });

  it.each<[string, (seal: Loose) => void, PackProblemCode]>([
    [
      'another format',
      (s) => (s.credentialSubject.format = 'docket-evidence-pack/4'),
      'malformed_seal',
    ],
    ['an unknown field', (s) => (s.credentialSubject.note = 'x'), 'malformed_seal'],
    [
      'other contexts',
      (s) =>
        (s['@context'] = ['https://www.w3.org/ns/credentials/v2', 'https://attacker.example/c']),
      'malformed_seal',
    ],
    ['fewer files', (s) => s.credentialSubject.file.pop(), 'malformed_seal'],
    [
      'one file twice',
      (s) => (s.credentialSubject.file[1] = s.credentialSubject.file[0]),
      'seal_contradiction',
    ],
    [
      'a range beyond the ledger',
      (s) => (s.credentialSubject.checkpoint.size = 8),
      'seal_contradiction',
    ],
    ['an empty range', (s) => (s.credentialSubject.range.lastIndex = 2), 'seal_contradiction'],
    ['a wrong count', (s) => (s.credentialSubject.range.receipts = 5), 'seal_contradiction'],
    [
      'more inferences than receipts',
      (s) => (s.credentialSubject.totals.covered = 7),
      'seal_contradiction',
    ],
    [
      'more lineage documents than receipts that have one',
      (s) => (s.credentialSubject.lineage.documents = 5),
      'seal_contradiction',
    ],
    [
      'lineage left out below the bound',
      (s) => (s.credentialSubject.lineage.undescribed = 1),
      'seal_contradiction',
    ],
    [
      'a quantity in another unit',
      (s) => (s.credentialSubject.totals.result[0].unit = 'MJ'),
      'seal_contradiction',
    ],
    [
      'a quantity twice',
      (s) => (s.credentialSubject.totals.result[1] = s.credentialSubject.totals.result[0]),
      'seal_contradiction',
    ],
    [
      'a negative total',
      (s) => (s.credentialSubject.totals.result[0].value = '-1'),
      'malformed_seal',
    ],
  ])('a seal with %s is refused', (_name, edit, code) => {
    expect(codeOf(() => parseSeal(seal(edit), 'seal'))).toBe(code);
  });

  it.each([
    '',
    'null',
    '{}',
    '[]',
    '{"a":1,"a":2}',
    '{"__proto__":{}}',
    '[[[[[[[[[[[[[[[[[[[[1',
    '"\ud800"',
  ])('%j is no seal', (text) => {
    expect(codeOf(() => parseSeal(text, 'seal'))).toBe('malformed_seal');
  });
});

describe('a manifest', () => {
  const lines = [
    { path: 'data/a.txt', sha256: '0'.repeat(64) },
    { path: 'data/b/c.txt', sha256: 'f'.repeat(64) },
  ];

  it('a manifest reads back as it was written', () => {
    expect([...parseManifest(formatManifest(lines), 'm')]).toEqual(
      lines.map(({ path, sha256 }) => [path, sha256]),
    );
    expect(parseManifest('', 'm').size).toBe(0);
  });

  it.each([
    'x',
    `${'0'.repeat(64)}  a`,
    `${'0'.repeat(64)} a\n`,
    `${'0'.repeat(63)}  a\n`,
    `${'A'.repeat(64)}  a\n`,
    `${'0'.repeat(64)}  ../a\n`,
    `${'0'.repeat(64)}  /etc/passwd\n`,
    `${'0'.repeat(64)}  a\n\n`,
    `${'0'.repeat(64)}  a\n${'0'.repeat(64)}  a\n`,
    `${'0'.repeat(64)}  a b\n`,
  ])('%j is no manifest', (text) => {
    expect(codeOf(() => parseManifest(text, 'm'))).toBe('malformed_manifest');
  });

  it('the description of a bag has no time of writing in it', () => {
    const facts = {
      issuer: 'did:web:x',
      identifier: 'i',
      description: 'd',
      date: '2026-11-20',
      payloadBytes: 5,
      payloadFiles: 2,
    };
    expect(bagInfo(facts)).toContain('Payload-Oxum: 5.2\n');
  });
});
