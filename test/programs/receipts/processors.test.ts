/**
 * The triples of a receipt do not depend on who reads it: two independent JSON-LD processors see the same, and one that
 * applies a single type-scoped context to a node, and no property-scoped one, sees none less. Where Python has rdflib,
 * which was such a one, it is asked as well.
 */
import { spawnSync } from 'node:child_process';
import { JsonLdParser } from 'jsonld-streaming-parser';
import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { contextDocument } from '#shared/packs/files/contexts.ts';
import { RECEIPT_CONTEXT_NAME } from '#shared/receipts/context.ts';
import { offline } from '#test/support/linked-data.ts';
import { INPUTS, type Loose, newIssuer } from '#test/unit/receipts/samples.ts';

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

/** Prints the triples of a document on standard input, which comes with the contexts that it names. */
const RDFLIB = `
import json, sys, rdflib
from rdflib.plugins.shared.jsonld import context
rdflib.NORMALIZE_LITERALS = False
document, contexts = json.load(sys.stdin)
context.source_to_json = lambda url, *rest: (contexts[url], None)
def term(each):
    if isinstance(each, rdflib.BNode): return {'termType': 'BlankNode', 'value': ''}
    if isinstance(each, rdflib.URIRef): return {'termType': 'NamedNode', 'value': each}
    return {'termType': 'Literal', 'value': each, 'datatype': {'value': each.datatype or rdflib.XSD.string}}
graph = rdflib.Graph().parse(data=json.dumps(document), format='json-ld')
names = ('subject', 'predicate', 'object')
print(json.dumps([dict(zip(names, map(term, triple))) for triple in graph]))
`;

/** Triples alone: it puts those of a proof into no graph of their own. */
async function byRdflib(text: string): Promise<string[]> {
  const document: Loose = JSON.parse(text);
  const contexts: Record<string, object> = {};
  for (const url of document['@context'] as string[]) {
    contexts[url] = (await offline(url)).document;
  }
  const input = JSON.stringify([document, contexts]);
  const { stdout, stderr } = spawnSync('python3', ['-c', RDFLIB], { input, encoding: 'utf8' });
  expect(stderr).toBe('');
  return (JSON.parse(stdout) as Loose[])
    .map((triple) => plain({ ...triple, graph: NO_GRAPH }))
    .toSorted();
}

const NO_GRAPH = { termType: 'DefaultGraph', value: '' };
const withoutGraph = (quad: string): string => quad.replace(/ \| [^|]*$/, ' |  ');
const hasRdflib = spawnSync('python3', ['-c', 'import rdflib']).status === 0;
const WHERE_IT_IS = hasRdflib ? [byRdflib] : [];

describe('every triple of a receipt', () => {
  it.each(Object.keys(INPUTS))('is seen by independent processors alike: %s', async (kind) => {
    const text = signer.sign(buildReceipt(INPUTS[kind]!));
    const triples = await byJsonld(text);
    expect(triples.length).toBeGreaterThan(20);
    expect(await byStreamingParser(text)).toEqual(triples);
    for (const triplesOf of WHERE_IT_IS) {
      expect(await triplesOf(text)).toEqual(triples.map(withoutGraph).toSorted());
    }
  });

  it('needs no context inside the context: each term stands at its top', () => {
    const { '@context': terms } = JSON.parse(contextDocument(RECEIPT_CONTEXT_NAME)!.toString()) as {
      '@context': Record<string, Loose>;
    };
    expect(Object.values(terms).filter((term) => term['@context'] !== undefined)).toEqual([]);
  });
});
