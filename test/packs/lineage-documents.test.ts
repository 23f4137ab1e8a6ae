/** Which lineage documents a pack has, and what a third party can read in them. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jsonld from 'jsonld';
import { beforeAll, describe, expect, it } from 'vitest';
import { LineageContradiction } from '#shared/lineage/facts.ts';
import { lineagePath } from '#shared/packs/layout.ts';
import { PackFailure } from '#workers/exports/failure.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { type IssuedReceipt, PackLab } from '#test/support/packs.ts';
import { ForgedPack, type Loose } from './tampering.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-lineage-'));
const lab = new PackLab(database.pool, directory);
const range = { firstIndex: 4, lastIndex: 20, checkpointSize: 0 };
const path = join(directory, 'pack.zip');
let pack: ForgedPack;
let measured: IssuedReceipt[];

beforeAll(async () => {
  const batch = (size: number): void => {
    lab.footprint = { ref: 'llama-3.1-8b', batch: size };
  };
  measured = await lab.issue(8);
  const degraded = await lab.issue(4, 'degraded');
  await lab.issue(2, 'refused');
  await lab.integrate();
  batch(8);
  await lab.revise(degraded.slice(0, 1));
  batch(16);
  await lab.issue(8);
  batch(24);
  await lab.revise(degraded.slice(1, 3));
  range.checkpointSize = await lab.integrate();
  await lab.pack(path, range);
  pack = new ForgedPack(path);
});

const documents = (): [string, Loose][] =>
  [...pack.files.keys()]
    .filter((name) => name.startsWith('data/lineage/'))
    .map((name) => [name, JSON.parse(pack.text(name))]);

describe('the lineage documents of a pack', () => {
  it('are one for each derivation, of the first receipt that has it, revisions among them [evidence.sources]', () => {
    // The first receipts have one; then the revision in the range, what was issued after it, and a revision from after.
    expect(documents().map(([name]) => name)).toEqual([4, 14, 15, 23].map(lineagePath));
    const { lineage } = pack.seal().credentialSubject;
    // Four first ones, a revision, six more in the range, two revisions from after it.
    expect(lineage).toMatchObject({ documents: 4, described: 13, undescribed: 0 });
  });

  it('tell of revisions what the receipt itself pins', () => {
    const chains = documents().map(([, { revisions }]) => revisions);
    expect(chains.map((chain) => chain.length)).toEqual([1, 2, 1, 2]);
    const [original, revision] = chains[1];
    expect(revision).toMatchObject({ leafIndex: 14, wasRevisionOf: original.id });
  });

  it('are the same again, and so the pack, when receipts were revised since [evidence.sources]', async () => {
    await lab.revise(measured.slice(5));
    await lab.integrate();
    const again = join(directory, 'again.zip');
    await lab.pack(again, range);
    expect(readFileSync(again).equals(readFileSync(path))).toBe(true);
  });

  it('are valid JSON-LD with the contexts of the pack, and cite what its methodologies have', async () => {
    const documentLoader = async (url: string) => {
      const name = url.slice(url.lastIndexOf('/') + 1);
      const document = JSON.parse(pack.text(`data/contexts/${name}`)) as object;
      return { contextUrl: null, documentUrl: url, document };
    };
    for (const [, document] of documents()) {
      const quads = (await jsonld.toRDF(document, { safe: true, documentLoader })) as Loose[];
      const cited = quads
        .filter(({ predicate }) => predicate.value === 'https://schema.org/citation')
        .map(({ object }) => object.value);
      const { id, name, version } = document.measurement.hadPlan;
      const plan = JSON.parse(pack.text(`data/methodologies/${name}/${version}.json`));
      const sources = new Set(plan.sources.map((source: Loose) => `${id}#${source.id}`));
      expect(cited.length).toBeGreaterThan(10);
      expect(cited.filter((source) => !sources.has(source))).toEqual([]);
    }
  });
});

it('a receipt that contradicts its methodology fails the export: what does not verify is never handed out', async () => {
  const lineage = (): never => {
    throw new LineageContradiction('result.gwp');
  };
  const failing = lab.pack(join(directory, 'never.zip'), range, {
    documents: { ...lab.documents, lineage },
  });
  await expect(failing).rejects.toThrow(PackFailure);
  await expect(failing).rejects.toMatchObject({
    code: 'lineage_contradiction',
    message: expect.stringContaining('entry 4'),
  });
});
