/**
 * As an auditor would who trusts no code of ours: takes the receipt of a live answer and the documents that the service
 * publishes, and verifies with libraries that know nothing of it. Nothing of ours that verifies is imported here.
 */
import { createPublicKey, verify as verifySignature } from 'node:crypto';
import { DataIntegrityProof } from '@digitalbazaar/data-integrity';
import { createVerifyCryptosuite } from '@digitalbazaar/eddsa-jcs-2022-cryptosuite';
import { verifyCredential } from '@digitalbazaar/vc';
import jsonld from 'jsonld';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';
import type { Product } from '#test/support/system.ts';

const PUBLIC_URL = 'https://docket.example';
interface Credential {
  '@context': string[];
  issuer: string;
  credentialSubject: { outputTokens: number };
}

let system: Product;
let receipt: Credential;
/** Everything that was fetched, once; from then on nothing is. */
const disk = new Map<string, object>();

beforeAll(async () => {
  system = await joinProduct();
  const openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key });
  const completion = await openai.chat.completions.create({
    model: 'llama-3.1-8b',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
    max_tokens: 5,
  });
  receipt = (completion as unknown as { receipt: Credential }).receipt;
  const published = async (path: string): Promise<object> =>
    (await (await fetch(`${system.root}${path}`)).json()) as object;
  const did = (await published('/.well-known/did.json')) as {
    id: string;
    verificationMethod: { id: string }[];
  };
  disk.set(did.id, did);
  for (const method of did.verificationMethod) {
    disk.set(method.id, { '@context': 'https://w3id.org/security/multikey/v1', ...method });
  }
  const [base, own] = receipt['@context'] as [string, string];
  disk.set(base, await published('/contexts/credentials-v2.jsonld'));
  disk.set(own, await published(own.slice(PUBLIC_URL.length)));
});

async function offline(url: string) {
  const document = disk.get(url);
  if (document === undefined) throw new Error(`not on disk: ${url}`);
  return { contextUrl: null, documentUrl: url, document };
}

const verify = (credential: object) =>
  verifyCredential({
    credential,
    suite: new DataIntegrityProof({ cryptosuite: createVerifyCryptosuite() }),
    documentLoader: offline,
  });

describe('the receipt of a live answer', () => {
  it('the receipt of a live answer verifies with a Verifiable Credentials library, offline [receipts.third-party]', async () => {
    const { verified, error } = await verify(receipt);
    expect(error).toBeUndefined();
    expect(verified).toBe(true);
  });

  it('a receipt does not verify with that library once a number is changed [receipts.third-party]', async () => {
    const changed = structuredClone(receipt);
    changed.credentialSubject.outputTokens += 1;
    expect((await verify(changed)).verified).toBe(false);
  });

  it('a receipt expands in JSON-LD safe mode: its contexts define every term', async () => {
    const [node] = await jsonld.expand(receipt, {
      safe: true,
      documentLoader: offline,
      base: null,
    });
    expect(JSON.stringify(node)).toContain('InferenceReceipt');
  });
});

describe('the anchor log', () => {
  it('its head verifies by the key that is published in the form of C2SP, under the name of the log', async () => {
    const fetched = async (path: string): Promise<string> =>
      (await fetch(`${system.root}${path}`)).text();
    let note = '';
    await until(async () => (note = await fetched('/anchor/checkpoint')).includes('\n— '));
    const { keys } = JSON.parse(await fetched('/.well-known/verifier-keys.json')) as {
      keys: { purpose: string; state: string; vkey: string }[];
    };
    const { vkey } = keys.find(({ state }) => state === 'active')!;
    const [name, id, key] = [
      vkey.split('+')[0]!,
      vkey.split('+')[1]!,
      vkey.split('+').slice(2).join('+'),
    ];
    const [text, lines] = [note.slice(0, note.indexOf('\n\n') + 1), note.split('\n\n')[1]!];
    const [by, signature] = lines.split('\n')[0]!.slice(2).split(' ') as [string, string];
    const bytes = Buffer.from(signature, 'base64');
    const spki = Buffer.concat([
      Buffer.from('302a300506032b6570032100', 'hex'),
      Buffer.from(key, 'base64').subarray(1),
    ]);
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect([by, text.split('\n')[0]]).toEqual([name, name]);
    expect(bytes.subarray(0, 4).toString('hex')).toBe(id);
    expect(verifySignature(null, Buffer.from(text), publicKey, bytes.subarray(4))).toBe(true);
    const org = `/.well-known/verifier-keys.json?organisation=${system.orgId}`;
    expect(await fetched(org)).toContain(`docket.example/log/${system.orgId}+`);
  });
});
