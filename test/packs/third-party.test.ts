/**
 * A pack verified with tools and libraries that know nothing of this service: this file imports what makes a pack, and
 * none of what verifies one here.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import canonicalize from 'canonicalize';
import { DataIntegrityProof } from '@digitalbazaar/data-integrity';
import { createVerifyCryptosuite } from '@digitalbazaar/eddsa-jcs-2022-cryptosuite';
import { verifyCredential } from '@digitalbazaar/vc';
import jsonld from 'jsonld';
import SHACLValidator from 'rdf-validate-shacl';
import { beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase } from '#test/support/database.ts';
import { PackLab } from '#test/support/packs.ts';

type Loose = ReturnType<typeof JSON.parse>;
const run = promisify(execFile);

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-auditor-'));
let bag: string;
let trusted: Loose;

beforeAll(async () => {
  const lab = new PackLab(database.pool, directory);
  const degraded = await lab.issue(4, 'degraded');
  await lab.issue(2, 'refused');
  await lab.issue(2, 'failed');
  await lab.integrate();
  await lab.revise(degraded.slice(0, 2));
  await lab.issue(30);
  const size = await lab.integrate();
  const pack = join(directory, 'pack.zip');
  await lab.pack(pack, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  trusted = JSON.parse(lab.documents.didDocument());
  await run('python3', ['-m', 'zipfile', '-e', pack, join(directory, 'unpacked')]);
  const [folder] = readdirSync(join(directory, 'unpacked'));
  bag = join(directory, 'unpacked', folder!);
});

const read = (path: string): Buffer => readFileSync(join(bag, path));
const seal = (): Loose => JSON.parse(read('evidence-pack.jsonld').toString());
const lines = (): string[] =>
  readdirSync(join(bag, 'data/receipts'))
    .toSorted()
    .flatMap((name) => read(`data/receipts/${name}`).toString().trimEnd().split('\n'));
const receipts = (): Loose[] => lines().map((line) => JSON.parse(line));

describe('sha256sum', () => {
  it.each(['manifest-sha256.txt', 'tagmanifest-sha256.txt'])('checks %s', async (manifest) => {
    const { stdout } = await run('sha256sum', ['-c', '--strict', manifest], { cwd: bag });
    expect(
      stdout
        .trim()
        .split('\n')
        .every((line) => line.endsWith(': OK')),
    ).toBe(true);
  });

  it('and every file is in one of them', () => {
    const named = ['manifest-sha256.txt', 'tagmanifest-sha256.txt'].flatMap((manifest) =>
      read(manifest)
        .toString()
        .trim()
        .split('\n')
        .map((line) => line.slice(66)),
    );
    const found = (readdirSync(bag, { recursive: true, withFileTypes: true }) as Loose[])
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(bag.length + 1));
    expect([...named, 'tagmanifest-sha256.txt'].toSorted()).toEqual(found.toSorted());
  });

  it('and the seal names the manifest', () => {
    const digest = createHash('sha256').update(read('manifest-sha256.txt')).digest();
    const named = seal().credentialSubject.file.find(
      ({ name }: Loose) => name === 'manifest-sha256.txt',
    );
    expect(Buffer.from(named.digest.slice(1), 'base64url').subarray(2).equals(digest)).toBe(true);
  });
});

/** Base58 as it is usually written, for a 34-byte key or a 64-byte signature. */
function fromBase58(text: string): Buffer {
  const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
  let number = 0n;
  for (const digit of text) number = number * 58n + BigInt(digits.indexOf(digit));
  const hex = number.toString(16);
  // Each leading zero byte is a `1`.
  const bytes = /^1*/.exec(text)![0].length + Math.ceil(hex.length / 2);
  return Buffer.from(hex.padStart(bytes * 2, '0'), 'hex');
}

/** Ed25519 by OpenSSL; the key's DER is a fixed prefix and its 32 bytes. */
async function opensslVerifies(
  multikey: string,
  data: Buffer,
  signature: Buffer,
): Promise<boolean> {
  const prefix = Buffer.from('302a300506032b6570032100', 'hex');
  writeFileSync(
    join(directory, 'key.der'),
    Buffer.concat([prefix, fromBase58(multikey.slice(1)).subarray(2)]),
  );
  writeFileSync(join(directory, 'signed.bin'), data);
  writeFileSync(join(directory, 'signature.bin'), signature);
  const args =
    'pkeyutl -verify -pubin -inkey key.der -keyform DER -rawin -in signed.bin -sigfile signature.bin';
  return run('openssl', args.split(' '), { cwd: directory }).then(
    () => true,
    () => false,
  );
}

const sha256 = (data: string | Buffer): Buffer => createHash('sha256').update(data).digest();

async function opensslVerifiesCredential(document: Loose): Promise<boolean> {
  const { proof, ...unsigned } = document;
  const { proofValue, ...configuration } = proof;
  const method = trusted.verificationMethod.find(
    ({ id }: Loose) => id === proof.verificationMethod,
  );
  const data = Buffer.concat([
    sha256(canonicalize(configuration)!),
    sha256(canonicalize(unsigned)!),
  ]);
  return opensslVerifies(method.publicKeyMultibase, data, fromBase58(proofValue.slice(1)));
}

describe('OpenSSL, with an RFC 8785 library', () => {
  it('verifies the seal and receipts of every kind', async () => {
    expect(await opensslVerifiesCredential(seal())).toBe(true);
    for (const receipt of receipts().slice(0, 12)) {
      expect(await opensslVerifiesCredential(receipt), receipt.id).toBe(true);
    }
  });

  it('and refuses an edited one', async () => {
    const receipt = receipts().at(-1);
    receipt.credentialSubject.outputTokens += 1;
    expect(await opensslVerifiesCredential(receipt)).toBe(false);
  });

  it('verifies the signed head of the ledger', async () => {
    const [text, signatures] = read('data/ledger/checkpoint.txt').toString().split('\n\n');
    const signature = Buffer.from(signatures!.trim().split(' ')[2]!, 'base64').subarray(4);
    const signed = Buffer.from(`${text}\n`);
    const others = trusted.verificationMethod.filter(
      ({ id }: Loose) => !trusted.assertionMethod.includes(id),
    );
    const verdicts: boolean[] = [];
    for (const { publicKeyMultibase } of others) {
      verdicts.push(await opensslVerifies(publicKeyMultibase, signed, signature));
    }
    expect(verdicts.filter(Boolean)).toHaveLength(1);
  });
});

/** RFC 6962, 2.1, as it is written there. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 1) return sha256(Buffer.concat([Buffer.of(0), leaves[0]!]));
  const split = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return sha256(
    Buffer.concat([Buffer.of(1), treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split))]),
  );
}

describe('the definition of RFC 6962', () => {
  it('gives the root that was signed, from the lines as they are [evidence.third-party]', () => {
    const [, size, root] = read('data/ledger/checkpoint.txt').toString().split('\n');
    const leaves = lines().map((line) => Buffer.from(line));
    expect([String(leaves.length), treeHash(leaves).toString('base64')]).toEqual([size, root]);
  });
});

/** Serves what is in the pack, and the keys that were fetched elsewhere. */
async function fromPack(
  url: string,
): Promise<{ contextUrl: null; documentUrl: string; document: object }> {
  const document = documentAt(url);
  if (document === undefined) throw new Error(`Not in the pack: ${url}`);
  return { contextUrl: null, documentUrl: url, document };
}

function documentAt(url: string): object | undefined {
  if (url === 'https://www.w3.org/ns/credentials/v2') {
    return JSON.parse(read('data/contexts/credentials-v2.jsonld').toString()) as object;
  }
  if (url.includes('/contexts/')) {
    const bytes = read(`data/contexts/${url.split('/').at(-1)}`);
    const digest = sha256(bytes);
    expect([digest.toString('hex'), digest.toString('base64url')]).toContain(
      /-([\w-]{43}|[0-9a-f]{64})\.jsonld$/.exec(url)?.[1],
    );
    return JSON.parse(bytes.toString()) as object;
  }
  if (url === trusted.id) return trusted as object;
  const method = trusted.verificationMethod.find(({ id }: Loose) => id === url);
  return method && { '@context': 'https://w3id.org/security/multikey/v1', ...method };
}

describe('a Verifiable Credentials library', () => {
  const verify = (credential: object) =>
    verifyCredential({
      credential,
      suite: new DataIntegrityProof({ cryptosuite: createVerifyCryptosuite() }),
      documentLoader: fromPack,
    });

  it('verifies the seal and receipts of every kind', async () => {
    for (const credential of [seal(), ...receipts().slice(0, 10)]) {
      const { verified, error } = await verify(credential);
      expect(error).toBeUndefined();
      expect(verified).toBe(true);
    }
  });

  it('and refuses other totals under the seal', async () => {
    const edited = seal();
    edited.credentialSubject.totals.covered += 1;
    expect((await verify(edited)).verified).toBe(false);
  });
});

describe('JSON-LD in safe mode, with the contexts of the pack', () => {
  it('knows every term of the seal and of receipts', async () => {
    for (const document of [seal(), ...receipts().slice(0, 10)]) {
      const quads = await jsonld.toRDF(document, { safe: true, documentLoader: fromPack });
      expect((quads as unknown[]).length).toBeGreaterThan(20);
    }
  });

  it('reads the totals as quantities, the range and the head as numbers', async () => {
    const [node] = (await jsonld.expand(seal(), {
      safe: true,
      documentLoader: fromPack,
    })) as Loose[];
    const own = 'urn:docket:vocabulary#';
    const pack = node['https://www.w3.org/2018/credentials#credentialSubject'][0];
    const energy = pack[`${own}totals`][0]['http://www.w3.org/ns/prov#generated'][0];
    expect(energy['http://qudt.org/schema/qudt/hasUnit']).toEqual([
      { '@id': 'http://qudt.org/vocab/unit/KiloW-HR' },
    ]);
    expect(energy['http://qudt.org/schema/qudt/numericValue'][0]['@type']).toBe(
      'http://www.w3.org/2001/XMLSchema#decimal',
    );
    expect(pack[`${own}range`][0][`${own}receipts`]).toEqual([{ '@value': 40 }]);
    expect(pack['http://purl.org/dc/terms/hasPart']).toHaveLength(5);
  });
});

describe('SHACL, with the shapes of the pack', () => {
  const factory = new SHACLValidator([] as Loose).factory;
  const datasetOf = async (document: object): Promise<Loose> => {
    const quads = (await jsonld.toRDF(document, {
      safe: true,
      documentLoader: fromPack,
    })) as Loose[];
    const term = (plain: Loose): Loose => {
      if (plain.termType === 'NamedNode') return factory.namedNode(plain.value);
      if (plain.termType === 'BlankNode') return factory.blankNode(plain.value.replace('_:', ''));
      if (plain.termType === 'DefaultGraph') return factory.defaultGraph();
      return factory.literal(
        plain.value,
        plain.language || factory.namedNode(plain.datatype.value),
      );
    };
    return factory.dataset(
      quads.map(({ subject, predicate, object, graph }) =>
        factory.quad(term(subject), term(predicate), term(object), term(graph)),
      ),
    );
  };

  it('finds receipts as they must be', async () => {
    const shapes = await datasetOf(
      JSON.parse(read('data/shapes/docket-receipt-shapes.jsonld').toString()) as object,
    );
    for (const receipt of receipts().slice(0, 10)) {
      const report = await new SHACLValidator(shapes).validate(await datasetOf(receipt));
      expect(report.results, receipt.id).toEqual([]);
    }
  });
});

describe('Python', () => {
  it('runs the script that is in the pack [evidence.third-party]', async () => {
    const did = join(directory, 'fetched-did.json');
    writeFileSync(did, JSON.stringify(trusted));
    const { stdout } = await run('python3', [
      join(bag, 'verify.py'),
      join(directory, 'pack.zip'),
      '--trust',
      did,
    ]);
    expect(stdout).toMatch(/^GOOD, except NOT CHECKED: page, lineage {2}40 receipts/);
  });
});
