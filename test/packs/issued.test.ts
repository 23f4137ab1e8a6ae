/** What was issued verifies, recomputes and exports for ever: frozen corpora, each made by the last release of its format. */
import { hash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import type { LedgerKind } from '#shared/ledger/entries.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { recompute } from '#shared/methodology/recompute.ts';
import {
  derivationDigest,
  type Derivations,
  parseDerivation,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { PACK_FORMATS, REPORT_PAGE, REPORT_STATEMENT } from '#shared/packs/layout.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { submitReceipts } from '#test/support/ledger.ts';
import { PackLab } from '#test/support/packs.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';
import { remadePage } from './remade-page.ts';
import { ForgedPack, type Loose } from './tampering.ts';

const methodologies = loadMethodologies();

interface Expected {
  organisation: string;
  receipts: {
    name: string;
    id: string;
    kind: LedgerKind;
    index: number;
    supersedes: string | null;
    sha256: string;
    lineageSha256: string;
    verdict: string;
    recomputed: 'reproduced' | 'no_measurement';
  }[];
  packs: { name: string; firstIndex: number; lastIndex: number; verdict: string }[];
}

/** The files of a corpus. */
class Corpus {
  readonly #folder: string;
  readonly expected: Expected;
  readonly didJson: string;

  constructor(name: string) {
    this.#folder = join(import.meta.dirname, '../vectors', name);
    this.expected = JSON.parse(this.read('expected.json').toString()) as Expected;
    this.didJson = this.read('did.json').toString();
  }

  path(...parts: string[]): string {
    return join(this.#folder, ...parts);
  }

  read(...parts: string[]): Buffer {
    return readFileSync(this.path(...parts));
  }

  /** Receipts of format 1 name no records, and bring everything along. */
  readonly derivation: Derivations = (digest) => {
    const path = this.path('derivations', `${digest}.json`);
    return existsSync(path) ? parseDerivation(readFileSync(path, 'utf8'), digest) : undefined;
  };
}

describe.each(['format-1', 'format-2'])('what was issued in %s', (format) => {
  const corpus = new Corpus(format);
  const { expected, didJson, derivation } = corpus;
  const bytesOf = (name: string): Buffer => corpus.read('receipts', `${name}.json`);

  it.for(expected.receipts)(
    'the receipt $name verifies, byte for byte',
    ({ name, id, sha256, verdict }) => {
      const bytes = bytesOf(name);
      expect(hash('sha256', bytes)).toBe(sha256);
      const found = verifyReceipt(bytes, trustedKeysOf(didJson), Date.now());
      expect([found.code, found.message]).toEqual([verdict, expect.anything()]);
      expect(found.document?.id).toMatch(new RegExp(`/${id}$`));
      expect(found.canonical).toBe(bytes.toString());
    },
  );

  it.for(expected.receipts)(
    'the receipt $name recomputes to the last character',
    ({ name, recomputed }) => {
      const { measurement } = parseReceipt(bytesOf(name)).document;
      if (measurement === undefined) return expect(recomputed).toBe('no_measurement');
      const stated = statedMeasurement(wholeMeasurement(measurement, derivation));
      const { id, version } = stated.methodology;
      const methodology = methodologies.methodology(id, version)!;
      expect(recompute(rebuildInput(stated.inputs), methodology, stated).differences).toEqual([]);
    },
  );

  it.for(expected.receipts)('the receipt $name has the lineage that it had', (receipt) => {
    const bytes = bytesOf(receipt.name);
    const { document } = parseReceipt(bytes);
    const log = `gateway.example/log/${expected.organisation}`;
    const own = { bytes, document, log, index: receipt.index };
    const sources = { ...methodologies, derivation };
    const lineage = packLineage(sources, own, format === 'format-1' ? 1 : 2);
    expect(hash('sha256', lineage)).toBe(receipt.lineageSha256);
  });

  it('every file of the corpus is looked at', () => {
    const named = expected.receipts.map(({ name }) => `${name}.json`);
    expect(readdirSync(corpus.path('receipts')).toSorted()).toEqual(named.toSorted());
  });

  it.for(expected.packs)(
    'both verifiers find the pack $name good, and make its lineage again',
    async ({ name, verdict }) => {
      const path = corpus.path(`${name}.zip`);
      const found = await verifyPack(path, { didJson, now: Date.now() });
      expect([found.code, found.message]).toEqual([verdict, expect.anything()]);
      expect(found.lineage!.remade).toBe(found.lineage!.documents);
      const python = await verifyWithPython(path, corpus.path('did.json'));
      expect([python.code, python.output]).toEqual([0, expect.stringMatching(/^GOOD {2}/)]);
    },
  );

  it('its receipts are exported by this release, and both verifiers find the pack good', async () => {
    const database = await createTestDatabase();
    const directory = mkdtempSync(join(tmpdir(), `docket-${format}-`));
    cpSync(corpus.path('keys'), join(directory, 'keys'), { recursive: true });
    for (const purpose of readdirSync(corpus.path('keys'))) {
      chmodSync(join(directory, 'keys', purpose), 0o700);
      chmodSync(join(directory, 'keys', purpose, 'active.pem'), 0o600);
    }
    const lab = new PackLab(database.pool, directory);
    expect(lab.documents.didDocument()).toBe(didJson);
    for (const { name, id, kind, supersedes } of expected.receipts) {
      const body = bytesOf(name);
      const { measurement } = parseReceipt(body).document;
      const digest = measurement && derivationDigest(measurement);
      const named =
        digest === undefined
          ? {}
          : {
              derivation: { digest, text: corpus.read('derivations', `${digest}.json`).toString() },
            };
      const receipt = { id, orgId: expected.organisation, kind, body, ...named };
      await submitReceipts(lab.pool, [supersedes === null ? receipt : { ...receipt, supersedes }]);
      if (supersedes !== null) {
        await lab.pool.query(
          'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
          [supersedes, id, expected.organisation],
        );
      }
      await lab.integrate();
    }
    const path = join(directory, 'pack.zip');
    const last = expected.receipts.length - 1;
    await lab.pack(path, { firstIndex: 0, lastIndex: last, checkpointSize: last + 1 });
    const found = await verifyPack(path, { didJson, now: Date.now() });
    expect([found.code, found.message]).toEqual(['good', expect.anything()]);
    const trust = join(directory, 'did.json');
    writeFileSync(trust, didJson);
    expect((await verifyWithPython(path, trust)).code).toBe(0);
  });
});

describe('the page of packs of format 3', () => {
  it('is made as it was, to the last byte, and both verifiers find its pack good', async () => {
    const corpus = new Corpus('format-2');
    const pack = new ForgedPack(corpus.path('whole.zip'));
    const frozen = (name: string): Buffer =>
      readFileSync(join(import.meta.dirname, '../vectors/pack-3', name));
    pack.set(REPORT_STATEMENT, frozen('stated.json'));
    const third = ({ credentialSubject }: Loose): void =>
      void (credentialSubject.format = PACK_FORMATS[2]);
    const seal = pack.seal();
    third(seal);
    const page = remadePage(pack, seal);
    expect(page).toBe(frozen('page.html').toString());
    pack.set(REPORT_PAGE, page!);
    const privateKeyPem = corpus.read('keys', 'packs', 'active.pem').toString();
    pack.repair(createReceiptSigner({ privateKeyPem, did: seal.issuer }), third);
    const path = join(mkdtempSync(join(tmpdir(), 'docket-page-')), 'pack.zip');
    await pack.write(path);
    const found = await verifyPack(path, { didJson: corpus.didJson, now: Date.now() });
    expect([found.code, found.message]).toEqual(['good', expect.anything()]);
    const python = await verifyWithPython(path, corpus.path('did.json'));
    expect([python.code, python.output]).toEqual([
      0,
      expect.stringContaining('report.html was made again and is the same'),
    ]);
  });
});

describe('what was metered in format 2', () => {
  const corpus = new Corpus('format-2');
  const documents = corpus.expected.receipts.map(
    ({ name }) => parseReceipt(corpus.read('receipts', `${name}.json`)).document,
  );

  it('receipts name intervals, and spans of several, by the digests of their frozen records', () => {
    const named = documents.flatMap(({ measurement }) =>
      measurement !== undefined && 'metered' in measurement ? [measurement.metered?.digest] : [],
    );
    const records = readdirSync(corpus.path('metered')).map((file) => {
      const bytes = corpus.read('metered', file);
      expect(file).toBe(`${multihashOfContent(bytes)}.json`);
      const record = JSON.parse(bytes.toString()) as { type: string; intervals?: string[] };
      expect(canonicalJson(record)).toBe(bytes.toString());
      return { digest: file.slice(0, -5), ...record };
    });
    const spans = records.flatMap(({ intervals = [] }) => intervals);
    const known = records.map(({ digest }) => digest);
    expect(known.filter((digest) => !named.includes(digest) && !spans.includes(digest))).toEqual(
      [],
    );
    expect([...named, ...spans].filter((digest) => !known.includes(digest))).toEqual([]);
    expect(new Set(records.map(({ type }) => type))).toEqual(
      new Set(['MeteredInterval', 'MeteredSpan']),
    );
  });

  it('the corpus holds measured energy, by upstream and by meter, and factors of hours, also both at once', () => {
    const kinds = documents.map(({ measurement, revisionReason }) => {
      const hour = measurement?.used.some(
        ({ type, ...more }) => type === 'GridFactor' && 'record' in more,
      );
      return [measurement?.dataQuality, revisionReason, hour ? 'hour' : ''].join(' ');
    });
    expect(kinds).toEqual(
      expect.arrayContaining([
        'T1  ',
        'T3  hour',
        'T1 measured ',
        'T1 measured hour',
        'T1 hourly_factor hour',
        'T3 hourly_factor hour',
      ]),
    );
  });
});
