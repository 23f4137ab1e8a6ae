/** The SHACL shapes that go with evidence packs: any SHACL processor can then check what a receipt must say. */
import { readFileSync } from 'node:fs';
import jsonld from 'jsonld';
import SHACLValidator from 'rdf-validate-shacl';
import { describe, expect, it } from 'vitest';
import { receiptShapes as shapesOf } from '#dev/receipt-shapes.ts';
import { receiptShapes } from '#shared/packs/files/contexts.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { offline } from '#test/support/linked-data.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS, type Loose, newIssuer } from '#test/unit/receipts/samples.ts';

const { signer } = newIssuer();
const factory = new SHACLValidator([] as Loose).factory;

/** A JSON-LD document as the quads of the RDF/JS interface. */
async function datasetOf(document: object): Promise<Loose> {
  const quads = (await jsonld.toRDF(document, { safe: true, documentLoader: offline })) as Loose[];
  const term = (plain: Loose): Loose => {
    if (plain.termType === 'NamedNode') return factory.namedNode(plain.value);
    if (plain.termType === 'BlankNode') return factory.blankNode(plain.value.replace('_:', ''));
    if (plain.termType === 'DefaultGraph') return factory.defaultGraph();
    return factory.literal(plain.value, plain.language || factory.namedNode(plain.datatype.value));
  };
  return factory.dataset(
    quads.map(({ subject, predicate, object, graph }) =>
      factory.quad(term(subject), term(predicate), term(object), term(graph)),
    ),
  );
}

/** Those that packs have, and those that the description gives today. */
const SHAPES = {
  released: await datasetOf(JSON.parse(receiptShapes().toString()) as object),
  described: await datasetOf(shapesOf(FORMAT_1)),
};
const receiptOf = (kind: string): Loose => JSON.parse(signer.sign(buildReceipt(INPUTS[kind]!)));

async function violations(receipt: object, shapes = SHAPES.released): Promise<string[]> {
  const report = await new SHACLValidator(shapes).validate(await datasetOf(receipt));
  return report.results.map((result: Loose) =>
    String(result.path?.value ?? result.sourceConstraintComponent?.value),
  );
}

describe('receipts conform to their shapes', () => {
  it.each(Object.keys(INPUTS))('%s', async (kind) => {
    expect(await violations(receiptOf(kind))).toEqual([]);
    expect(await violations(receiptOf(kind), SHAPES.described)).toEqual([]);
  });

  it('as does the documented example', async () => {
    const file = new URL('../../vectors/receipt/receipt.json', import.meta.url);
    expect(await violations(JSON.parse(readFileSync(file, 'utf8')) as object)).toEqual([]);
  });
});

describe('what a receipt may not say violates them', () => {
  it.each<[string, string, (receipt: Loose) => void]>([
    ['a value above its upper bound', 'full', (r) => (r.measurement.result[0].upper = '0.0001')],
    ['a value below its lower bound', 'full', (r) => (r.measurement.result[0].lower = '1')],
    ['a quantity without a unit', 'full', (r) => delete r.measurement.result[0].unit],
    ['no measurement and no reason', 'full', (r) => delete r.measurement],
    ['a degraded receipt without a reason', 'degraded', (r) => delete r.degradation],
    [
      'a degraded receipt with an estimate',
      'degraded',
      (r) => (r.measurement = receiptOf('full').measurement),
    ],
    ['a refusal that used tokens', 'refused', (r) => (r.credentialSubject.outputTokens = 5)],
    ['a refusal without its policy', 'refused', (r) => delete r.credentialSubject.policy],
    ['another tier', 'full', (r) => (r.tier = 'gold')],
    ['fewer tokens than none', 'full', (r) => (r.credentialSubject.inputTokens = -1)],
    ['no methodology', 'full', (r) => delete r.measurement.qualifiedAssociation],
    ['an input without its record', 'full', (r) => delete r.measurement.used[0].record],
    ['a revision of nothing', 'revised', (r) => delete r.wasRevisionOf],
    ['no proof', 'full', (r) => delete r.proof],
  ])('%s', async (_, kind, edit) => {
    const receipt = receiptOf(kind);
    edit(receipt);
    expect(await violations(receipt)).not.toEqual([]);
    expect(await violations(receipt, SHAPES.described)).not.toEqual([]);
  });
});
