import { LINEAGE_CONTEXT_NAME } from '#shared/lineage/context.ts';
/** Where the numbers of a pack come from: what the documents say, which there are, and which there must be. */
import { describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { derivationPath, lineagePath } from '#shared/packs/layout.ts';
import { parseDerivation } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { expectLeftToDocket, expectRefused, FIRST, forge, GOOD_PACK, LAST } from './forger.ts';
import { ForgedPack, type Loose, multihash } from './tampering.ts';

/** The receipt at the start of the range is the first of its derivation. */
const FIRST_DOCUMENT = lineagePath(FIRST);

const good = (): Loose => JSON.parse(new ForgedPack(GOOD_PACK).text(FIRST_DOCUMENT));
const documentsOf = (pack: ForgedPack): string[] =>
  [...pack.files.keys()].filter((name) => name.startsWith('data/lineage/'));

/** Changes what the first document says, in a form that is right. */
const say =
  (change: (lineage: Loose) => void) =>
  (pack: ForgedPack): void => {
    const lineage = good();
    change(lineage);
    pack.set(FIRST_DOCUMENT, canonicalJson(lineage));
  };

/** Its value stays what its formula gives. */
function readNothing(step: Loose): void {
  step.formula += ' + nothing';
  step.reads.push({ symbol: 'nothing', value: '0', unit: step.unit });
}

describe('a lineage document that was altered', () => {
  it.each<[string, (lineage: Loose) => void]>([
    ['other bytes of the receipt', (l) => (l.about.digest = multihash(Buffer.from('x')))],
    ['another record', (l) => (l.measurement.used[1].record.lifetime_s = 1)],
    ['a record less', (l) => l.measurement.used.pop()],
    ['a record more', (l) => l.measurement.used.push(l.measurement.used[1])],
    ['another figure of a record', (l) => (l.measurement.used[1].figures[0].value = '7')],
    ['another figure under its name', (l) => (l.measurement.used[1].figures[0].symbol = 'host')],
    ['another formula', (l) => (l.measurement.steps[3].formula += ' * 2')],
    ['a formula that is not the methodology’s', (l) => (l.measurement.steps[3].formula += ' * 1')],
    ['that a step reads what nothing gave', (l) => readNothing(l.measurement.steps[3])],
    ['steps in another order', (l) => (l.measurement.steps = l.measurement.steps.toReversed())],
    ['fewer doubts', (l) => l.measurement.bounds[0].factors.pop()],
  ])('to say %s is found [evidence.sources]', async (_name, change) => {
    await expectRefused(await forge(say(change), 'nothing'), 'checksum_mismatch');
    await expectRefused(await forge(say(change), 'seal'), 'lineage_mismatch');
  });

  it.each<[string, (lineage: Loose) => void]>([
    ['another receipt', (l) => (l.about.id = l.about.id.replace(/.$/, 'X'))],
    ['another methodology', (l) => (l.measurement.hadPlan.digest = multihash(Buffer.from('x')))],
    ['another version of it', (l) => (l.measurement.hadPlan.version = '1.0.1')],
    ['another constant', (l) => (l.measurement.hadPlan.constants[0].value = '0.00001')],
    ['another digest of a record', (l) => (l.measurement.used[1].digest = multihash(Buffer.of(1)))],
    ['another step', (l) => (l.measurement.steps[3].value = '12')],
    ['another figure in a step', (l) => (l.measurement.steps[0].reads[0].value = '7')],
    ['another result', (l) => (l.measurement.generated[0].value = '0.000001')],
  ])(
    'to tell of %s is found by docket verify, and the script says that it did not look [evidence.sources]',
    async (_name, change) => {
      await expectRefused(await forge(say(change), 'nothing'), 'checksum_mismatch');
      await expectLeftToDocket(await forge(say(change), 'seal'), 'lineage_mismatch');
    },
  );

  it('and one of another receipt, one that is none, and one in another spelling are found', async () => {
    const [, second] = documentsOf(new ForgedPack(GOOD_PACK));
    for (const edit of [
      (pack: ForgedPack) => pack.set(FIRST_DOCUMENT, pack.files.get(second!)!),
      (pack: ForgedPack) => pack.set(FIRST_DOCUMENT, '{}'),
      (pack: ForgedPack) => pack.set(FIRST_DOCUMENT, '['.repeat(100_000)),
      (pack: ForgedPack) => pack.set(FIRST_DOCUMENT, `${pack.text(FIRST_DOCUMENT)}\n`),
    ]) {
      await expectRefused(await forge(edit, 'seal'), 'lineage_mismatch');
    }
  });
});

describe('lineage documents', () => {
  const count = (by: number) => (seal: Loose) => {
    seal.credentialSubject.lineage.documents += by;
  };

  it('that were removed are missed, also when the seal does not count them [evidence.sources]', async () => {
    const remove = (pack: ForgedPack): void => void pack.files.delete(FIRST_DOCUMENT);
    await expectRefused(await forge(remove, 'nothing'), 'missing_file');
    await expectRefused(await forge(remove, 'seal'), 'lineage_missing');
    await expectRefused(await forge(remove, 'seal', count(-1)), 'lineage_missing');
    const none = (pack: ForgedPack): void => {
      for (const name of documentsOf(pack)) pack.files.delete(name);
    };
    const zero = (seal: Loose): void => {
      const { lineage } = seal.credentialSubject;
      Object.assign(lineage, { documents: 0, described: 0, undescribed: lineage.described });
    };
    await expectRefused(await forge(none, 'seal', zero), 'seal_contradiction');
  });

  it.each([
    ['for a receipt that is not there', lineagePath(LAST + 500)],
    ['for one outside the range', lineagePath(FIRST - 1)],
    ['for one whose derivation has one already', lineagePath(FIRST + 3)],
    ['under a name of no receipt', 'data/lineage/first.jsonld'],
    ['under two names', FIRST_DOCUMENT.replace('.jsonld', '.json')],
  ])('%s are found', async (_name, path) => {
    const add = (pack: ForgedPack): void => pack.set(path, pack.files.get(FIRST_DOCUMENT)!);
    const code = ['extra_file', 'lineage_mismatch'] as const;
    await expectRefused(await forge(add, 'nothing'), 'extra_file');
    await expectRefused(await forge(add, 'seal'), code);
    await expectRefused(await forge(add, 'seal', count(1)), code);
  });

  it('that are right for a receipt, and not for the first of its derivation, are found', async () => {
    const move = (pack: ForgedPack): void => {
      pack.files.delete(FIRST_DOCUMENT);
      pack.set(lineagePath(FIRST + 1), lineageOfEntry(pack, FIRST + 1));
    };
    await expectRefused(await forge(move, 'seal'), 'lineage_missing');
  });

  it('are counted by the seal', async () => {
    for (const name of ['described', 'documents'] as const) {
      const one = (seal: Loose): void => void (seal.credentialSubject.lineage[name] += 1);
      await expectRefused(await forge(() => {}, 'seal', one), [
        'lineage_mismatch',
        'seal_contradiction',
      ]);
    }
    const fewer = (seal: Loose): void => void (seal.credentialSubject.lineage.described -= 1);
    await expectRefused(await forge(() => {}, 'seal', fewer), 'lineage_mismatch');
  });

  it('cite a context that is in the pack', async () => {
    const drop = (pack: ForgedPack): void => {
      pack.files.delete(`data/contexts/${LINEAGE_CONTEXT_NAME}`);
    };
    await expectRefused(await forge(drop, 'seal'), 'context_mismatch');
  });

  it('are each made again by docket verify, and found the same', async () => {
    const names = documentsOf(new ForgedPack(GOOD_PACK));
    // In the range, and after it: the last one is of a revision.
    expect(names.at(-1)! > lineagePath(LAST)).toBe(true);
    const documents = names.length;
    const { lineage } = await verifyPack(GOOD_PACK, { now: Date.now() });
    expect(lineage).toEqual({ documents, remade: documents });
  });
});

/** The lineage of any receipt of the range, as its maker would make it. */
function lineageOfEntry(pack: ForgedPack, index: number): string {
  const line = pack.text(pack.shard('receipts')).split('\n')[index - FIRST]!;
  const document = JSON.parse(line) as ReceiptDocument;
  const { log } = pack.seal().credentialSubject.checkpoint;
  const sources = {
    ...shippedMethodologies(),
    derivation: (digest: string) => parseDerivation(pack.text(derivationPath(digest)), digest),
  };
  return packLineage(sources, { bytes: Buffer.from(line), document, log, index });
}
