/** What was issued verifies, recomputes and exports: a corpus of each format. */
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack as verifyInNode } from '#cli/verify/library.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { recompute } from '#shared/methodology/recompute.ts';
import { wholeMeasurement } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';
import { Corpus, METHODOLOGIES, refuseFrozen } from './corpus.ts';
import { reissue } from './reissue.ts';

if (process.env['REISSUE']) {
  refuseFrozen();
  await reissue(new Corpus('format-1'));
}

describe.each(['format-1'])('what was issued in %s', (format) => {
  const corpus = new Corpus(format);
  const { expected, didJson, derivation } = corpus;

  it.for(expected.receipts)(
    'the receipt $name verifies, byte for byte',
    ({ name, id, sha256, verdict }) => {
      const bytes = corpus.bytesOf(name);
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
      const { measurement } = parseReceipt(corpus.bytesOf(name)).document;
      if (measurement === undefined) return expect(recomputed).toBe('no_measurement');
      const stated = statedMeasurement(wholeMeasurement(measurement, derivation));
      const { id, version } = stated.methodology;
      const methodology = METHODOLOGIES.methodology(id, version)!;
      expect(recompute(rebuildInput(stated.inputs), methodology, stated).differences).toEqual([]);
    },
  );

  it.for(expected.receipts)('the receipt $name has the lineage that it had', (receipt) => {
    expect(hash('sha256', corpus.lineageOf(receipt))).toBe(receipt.lineageSha256);
  });

  it('every file of the corpus is looked at', () => {
    const named = expected.receipts.map(({ name }) => `${name}.json`);
    expect(readdirSync(corpus.path('receipts')).toSorted()).toEqual(named.toSorted());
  });

  it.for(expected.packs)(
    'both verifiers find the pack $name good, and docket verify makes its lineage again',
    async ({ name, verdict }) => {
      const path = corpus.path(`${name}.zip`);
      const found = await verifyPack(path, { didJson, now: Date.now() });
      expect([found.code, found.message]).toEqual([verdict, expect.anything()]);
      expect(found.lineage!.remade).toBe(found.lineage!.documents);
      const python = await verifyWithPython(path, corpus.path('did.json'));
      expect([python.code, python.output]).toEqual([0, expect.stringMatching(SCRIPT_GOOD)]);
    },
  );

  it('its receipts are exported by this release, and both verifiers find the pack good', async () => {
    const directory = mkdtempSync(join(tmpdir(), `docket-${format}-`));
    const lab = await corpus.lab(directory);
    expect(lab.documents.didDocument()).toBe(didJson);
    await corpus.integrate(lab);
    const path = join(directory, 'pack.zip');
    await corpus.pack(lab, path, { firstIndex: 0, lastIndex: expected.receipts.length - 1 });
    const found = await verifyPack(path, { didJson, now: Date.now() });
    expect([found.code, found.message]).toEqual(['good', expect.anything()]);
    const trust = join(directory, 'did.json');
    writeFileSync(trust, didJson);
    expect((await verifyWithPython(path, trust)).code).toBe(0);
  });
});

describe('the keys that a pack of the corpus is judged with', () => {
  const corpus = new Corpus('format-1');

  it('trust in a form that is not known is no trust: nothing is judged', async () => {
    const path = corpus.path('whole.zip');
    const { didJson } = corpus;
    const judged = (trust: unknown) => verifyInNode(path, { trust: trust as never });
    expect((await judged({ didJson, source: 'did.json' })).verdict).toBe('good');
    for (const trust of [didJson, { did: didJson }, JSON.parse(didJson) as object]) {
      expect(await judged(trust)).toMatchObject({ verdict: 'cannot_judge', exitCode: 2 });
    }
  });
});

describe('what was metered in format 1', () => {
  const corpus = new Corpus('format-1');
  const documents = corpus.expected.receipts.map(
    ({ name }) => parseReceipt(corpus.bytesOf(name)).document,
  );

  it('receipts name intervals, and spans of several, by the digests of their records', () => {
    const named = documents.flatMap(({ measurement }) =>
      measurement?.metered === undefined ? [] : [measurement.metered.digest],
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

  it('the corpus holds energy that an upstream stated, and that was metered, and factors of hours, also both at once', () => {
    const kinds = documents.map(({ measurement, revisionReason }) => {
      const hour = measurement?.used.some(({ type }) => type === 'GridFactor');
      return [measurement?.dataQuality, revisionReason, hour ? 'hour' : ''].join(' ');
    });
    expect(kinds).toEqual(
      expect.arrayContaining([
        'TS  ',
        'T3  hour',
        'T1 measured ',
        'T1 measured hour',
        'T1 hourly_factor hour',
        'T3 hourly_factor hour',
        'T3 hours_incomplete ',
      ]),
    );
  });
});
