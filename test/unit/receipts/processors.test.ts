/**
 * The triples of a receipt do not depend on who reads it: two independent JSON-LD processors see the same, and one that
 * applies a single type-scoped context to a node, and no property-scoped one, sees none less.
 */
import { JsonLdParser } from 'jsonld-streaming-parser';
import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { RECEIPT_CONTEXT_NAME } from '#shared/receipts/context.ts';
import { offline } from '#test/support/linked-data.ts';
import { INPUTS, type Loose, newIssuer } from './samples.ts';

const { signer } = newIssuer();

/** A quad without the names of blank nodes, which each processor chooses. */
function plain({ subject, predicate, object, graph }: Loose): string {
  const term = ({ termType, value, datatype }: Loose): string =>
    termType === 'BlankNode' ? '_:' : `${value} ${datatype?.value ?? ''}`;
  return [subject, predicate, object, graph].map(term).join(' | ');
}

/** What a node is called and of which class before what is said of it, as this processor wants it; JSON has no order. */
function inStreamingOrder(value: Loose): Loose {
  if (Array.isArray(value)) return value.map(inStreamingOrder);
  if (typeof value !== 'object' || value === null) return value;
  const { '@context': context, type, id, ...rest } = value;
  const first = Object.entries({ '@context': context, type, id });
  const fields = Object.entries(rest).map(([key, each]) => [key, inStreamingOrder(each)]);
  return Object.fromEntries([...first.filter(([, each]) => each !== undefined), ...fields]);
}

async function byJsonld(text: string): Promise<string[]> {
  const quads = await jsonld.toRDF(JSON.parse(text) as object, {
    safe: true,
    documentLoader: offline,
  });
  return (quads as Loose[]).map(plain).toSorted();
}

function byStreamingParser(text: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const found: string[] = [];
    const parser = new JsonLdParser({
      documentLoader: { load: async (url) => (await offline(url)).document },
      baseIRI: 'urn:base:',
    });
    parser.on('data', (quad: Loose) => found.push(plain(quad)));
    parser.on('error', reject);
    parser.on('end', () => resolve(found.toSorted()));
    parser.end(JSON.stringify(inStreamingOrder(JSON.parse(text))));
  });
}

describe('every triple of a receipt', () => {
  it.each(Object.keys(INPUTS))('is seen by two independent processors alike: %s', async (kind) => {
    const text = signer.sign(buildReceipt(INPUTS[kind]!));
    const triples = await byJsonld(text);
    expect(triples.length).toBeGreaterThan(20);
    expect(await byStreamingParser(text)).toEqual(triples);
  });

  it('needs no context inside the context: each term stands at its top', () => {
    const { '@context': terms } = JSON.parse(contextDocument(RECEIPT_CONTEXT_NAME)!.toString()) as {
      '@context': Record<string, Loose>;
    };
    expect(Object.values(terms).filter((term) => term['@context'] !== undefined)).toEqual([]);
  });
});
