/** What follows from the description of a receipt, and what must agree with it. */
import { readFileSync } from 'node:fs';
import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import { receiptContext } from '#dev/receipt-context.ts';
import { receiptShapes as shapesOf, type Shape } from '#dev/receipt-shapes.ts';
import { contextDocument, receiptShapes } from '#shared/packs/files/contexts.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { RECEIPT_CONTEXT_NAME } from '#shared/receipts/context.ts';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';
import { expandedBy, namesIn, offline, termsIn } from '#test/support/linked-data.ts';
import { INPUTS, type Loose, newIssuer } from './samples.ts';

const { signer } = newIssuer();
const signed = (kind: string): Loose => JSON.parse(signer.sign(buildReceipt(INPUTS[kind]!)));
const example: Loose = JSON.parse(
  readFileSync(new URL('../../vectors/receipt/receipt.json', import.meta.url), 'utf8'),
);

/** Paths of all fields; those of items stand under the list. */
function pathsIn(schema: Loose, path = ''): string[] {
  return Object.entries<Loose>(schema.properties ?? {}).flatMap(([name, field]) => [
    path + name,
    ...pathsIn(field.items ?? field, `${path}${name}.`),
  ]);
}

function pathsOf(value: Loose, path = ''): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => pathsOf(item, path));
  if (typeof value !== 'object') return [];
  return Object.entries<Loose>(value).flatMap(([name, member]) => [
    path + name,
    ...pathsOf(member, `${path}${name}.`),
  ]);
}

describe('the description of a receipt', () => {
  it('has its fields in canonical order, in which they are written', () => {
    const check = (schema: Loose): void => {
      const names = Object.keys(schema.properties ?? {});
      expect(names).toEqual(names.toSorted());
      for (const field of Object.values<Loose>(schema.properties ?? {}))
        check(field.items ?? field);
    };
    check(FORMAT_1);
  });

  it('has no field that is never written, but the rule that a refusal may name, and what a meter will give', () => {
    const written = new Set(Object.keys(INPUTS).flatMap((kind) => pathsOf(signed(kind))));
    expect(pathsIn(FORMAT_1).filter((path) => !written.has(path))).toEqual([
      'credentialSubject.policy.rule',
      'measurement.metered',
      'measurement.metered.digest',
      'measurement.metered.from',
      'measurement.metered.to',
    ]);
  });
});

describe('the JSON-LD context', () => {
  const context = JSON.parse(contextDocument(RECEIPT_CONTEXT_NAME)!.toString()) as {
    '@context': object;
  };

  it.each([...Object.keys(INPUTS), 'example'])(
    'gives every field the meaning that the description says: %s',
    async (kind) => {
      const { proof: _, ...receipt } = kind === 'example' ? example : signed(kind);
      const [expanded] = await jsonld.expand(receipt, { safe: true, documentLoader: offline });
      expect(expanded).toEqual(expandedBy(FORMAT_1, receipt));
    },
  );

  it('is the one that the description gives: a change of it needs a new name', () => {
    expect(context).toEqual(receiptContext(FORMAT_1));
  });

  it('defines nothing that a receipt does not have', () => {
    const described = namesIn(FORMAT_1);
    expect(termsIn(context['@context']).filter((term) => !described.has(term))).toEqual([]);
  });
});

/** What a graph of shapes says, one statement a line. */
function statementsOf(graph: readonly Shape[]): string[] {
  const said = (where: string, constraint: object): string[] =>
    Object.entries(constraint).map(([name, value]) => `${where} ${name} ${JSON.stringify(value)}`);
  return graph.flatMap(({ '@id': id, property = [], ...rest }) => [
    ...said(String(id), rest),
    ...property.flatMap(({ path, ...more }) => said(`${String(id)} ${String(path)}`, more)),
  ]);
}

describe('the SHACL shapes in packs', () => {
  const released = statementsOf(
    (JSON.parse(receiptShapes().toString()) as { '@graph': Shape[] })['@graph'],
  );
  const described = statementsOf(shapesOf(FORMAT_1)['@graph']);

  it('say nothing that the description does not', () => {
    expect(released.filter((statement) => !described.includes(statement))).toEqual([]);
  });

  it('leave nothing unsaid', () => {
    expect(described.filter((statement) => !released.includes(statement))).toEqual([]);
  });
});
