/**
 * Verification by libraries that know nothing of this service: this file imports what issues receipts and none of what
 * verifies them here.
 */
import { readFileSync } from 'node:fs';
import { DataIntegrityProof } from '@digitalbazaar/data-integrity';
import { createVerifyCryptosuite } from '@digitalbazaar/eddsa-jcs-2022-cryptosuite';
import { verifyCredential } from '@digitalbazaar/vc';
import jsonld from 'jsonld';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS, newIssuer, type Loose } from '#test/unit/receipts/samples.ts';

const { signer, did } = newIssuer();
const kinds = Object.keys(INPUTS);
const receiptOf = (kind: string) => JSON.parse(signer.sign(buildReceipt(INPUTS[kind]!)));

const contextFile = (name: string): object =>
  JSON.parse(
    readFileSync(new URL(`../../../shared/receipts/contexts/${name}`, import.meta.url), 'utf8'),
  ) as object;

/** Serves what an auditor has on disk; a request for anything else fails. */
async function offline(
  url: string,
): Promise<{ contextUrl: null; documentUrl: string; document: object }> {
  const document = documentAt(url);
  if (document === undefined) throw new Error(`Not available offline: ${url}`);
  return { contextUrl: null, documentUrl: url, document };
}

function documentAt(url: string): object | undefined {
  if (url === 'https://www.w3.org/ns/credentials/v2') return contextFile('credentials-v2.jsonld');
  if (url.startsWith('https://gateway.example/contexts/'))
    return contextFile(url.slice(url.lastIndexOf('/') + 1));
  if (url === did.id) return did;
  const method = did.verificationMethod.find(({ id }) => id === url);
  return method && { '@context': 'https://w3id.org/security/multikey/v1', ...method };
}

const verify = (credential: object) =>
  verifyCredential({
    credential,
    suite: new DataIntegrityProof({ cryptosuite: createVerifyCryptosuite() }),
    documentLoader: offline,
    now: new Date('2026-11-21T00:00:00Z'),
  });

describe('a Verifiable Credentials library verifies receipts offline', () => {
  it.each(kinds)('%s', async (kind) => {
    const { verified, error } = await verify(receiptOf(kind));
    expect(error).toBeUndefined();
    expect(verified).toBe(true);
  });

  it('and refuses one that was edited', async () => {
    const receipt = receiptOf('full');
    receipt.credentialSubject.outputTokens += 1;
    expect((await verify(receipt)).verified).toBe(false);
  });

  it('and refuses one whose context was swapped', async () => {
    const receipt = receiptOf('full');
    receipt['@context'][1] = receipt['@context'][1].replace(
      /[\w-]{43}(?=\.jsonld)/,
      '0'.repeat(43),
    );
    expect((await verify(receipt)).verified).toBe(false);
  });

  it('and refuses one signed by a key that did.json does not list', async () => {
    const stranger = newIssuer();
    const text = stranger.signer.sign(buildReceipt(INPUTS['full']!));
    expect((await verify(JSON.parse(text))).verified).toBe(false);
  });
});

const PROV = 'http://www.w3.org/ns/prov#';
const QUDT = 'http://qudt.org/schema/qudt/';
const OWN = 'urn:docket:vocabulary#';
const expand = async (kind: string): Promise<Loose> => {
  const [node] = await jsonld.expand(receiptOf(kind), {
    safe: true,
    documentLoader: offline,
    base: null,
  });
  return node!;
};

describe('every term of a receipt is defined: JSON-LD safe mode expands it', () => {
  it.each(kinds)('%s', async (kind) => {
    const node = await expand(kind);
    expect(node['@type']).toContain(`${OWN}InferenceReceipt`);
    await jsonld.toRDF(receiptOf(kind), {
      safe: true,
      documentLoader: offline,
      format: 'application/n-quads',
    });
  });

  it('and nothing of the document is lost in the expansion', async () => {
    const values = (value: unknown): string[] =>
      typeof value === 'object' && value !== null
        ? Object.values(value).flatMap(values)
        : [String(value)];
    const receipt = receiptOf('full');
    const expanded = new Set(values(await expand('full')));
    delete receipt['@context'];
    delete receipt.proof['@context'];
    const terms =
      /^(VerifiableCredential|InferenceReceipt|Activity|Inference|Measurement|Association|QuantityValue|DataIntegrityProof|assertionMethod|[A-Z][a-z]+(Record|Factor)|T\d|complete|upstream|energy|gwp|water|adp[ef]|kWh|kgCO2e|kgSbe|MJ|L)$/;
    const literals = values(receipt).filter((value) => !terms.test(value));
    expect(literals.length).toBeGreaterThan(50);
    expect(literals.filter((value) => !expanded.has(value))).toEqual([]);
  });

  it('a field that the context does not know is found', async () => {
    const receipt = { ...receiptOf('full'), footnote: 'x' };
    await expect(jsonld.expand(receipt, { safe: true, documentLoader: offline })).rejects.toThrow();
  });

  it('the inference and the measurement are activities of PROV-O, the results quantities of QUDT', async () => {
    const node = await expand('full');
    const subject = node['https://www.w3.org/2018/credentials#credentialSubject'][0];
    const measured = node[`${OWN}measurement`][0];
    expect(subject['@type']).toEqual([`${PROV}Activity`, `${OWN}Inference`]);
    expect(subject[`${PROV}startedAtTime`][0]['@type']).toBe(
      'http://www.w3.org/2001/XMLSchema#dateTime',
    );
    expect(measured['@type']).toContain(`${PROV}Activity`);
    const association = measured[`${PROV}qualifiedAssociation`][0];
    expect(association['@type']).toEqual([`${PROV}Association`]);
    expect(association[`${PROV}agent`][0]['@id']).toBe('did:web:gateway.example');
    expect(association[`${PROV}hadPlan`][0]['@id']).toBe(
      'https://gateway.example/methodologies/docket-1/1.0.0',
    );
    expect(measured[`${PROV}wasInformedBy`][0]['@id']).toBe(subject['@id']);
    expect(measured[`${PROV}used`]).toHaveLength(1);
    const energy = measured[`${PROV}generated`][0];
    expect(energy).toMatchObject({
      '@type': [`${QUDT}QuantityValue`],
      [`${QUDT}hasQuantityKind`]: [{ '@id': 'http://qudt.org/vocab/quantitykind/Energy' }],
      [`${QUDT}hasUnit`]: [{ '@id': 'http://qudt.org/vocab/unit/KiloW-HR' }],
      [`${QUDT}numericValue`]: [
        { '@type': 'http://www.w3.org/2001/XMLSchema#decimal', '@value': '0.000308123456789' },
      ],
    });
  });

  it('a revision points at the receipt it revises', async () => {
    const node = await expand('revised');
    expect(node[`${PROV}wasRevisionOf`][0]).toMatchObject({
      '@id': 'https://gateway.example/receipts/rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      [`${OWN}leafIndex`]: [{ '@value': 41 }],
    });
  });
});
