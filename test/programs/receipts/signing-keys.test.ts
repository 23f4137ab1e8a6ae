import { execFile } from 'node:child_process';
import { createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto';
import {
  chmodSync,
  mkdtempSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jwkThumbprint, publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import {
  activeKey,
  ensureSigningKeys,
  KEY_PURPOSES,
  type KeyState,
  keyPath,
  loadSigningKeys,
  signingKeysVersion,
} from '#shared/receipts/signing/files/key-files.ts';
import { didDocument, jwks } from '#shared/receipts/signing/publication.ts';
import {
  PUBLISHED_BEFORE_USE_MS,
  revokeSigningKey,
  rotateSigningKey,
} from '#shared/receipts/signing/files/rotation.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { INPUTS, issuer, PUBLIC_URL, SIGNED_AT } from '#test/unit/receipts/samples.ts';

let dir: string;
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'docket-keys-')), 'signing-keys');
});
afterEach(() => rmSync(join(dir, '..'), { recursive: true }));

const problem = (code: string) => expect.objectContaining({ name: 'SigningKeyProblem', code });
const inState = (state: KeyState) =>
  loadSigningKeys(dir)
    .filter((key) => key.purpose === 'receipts' && key.state === state)
    .map((key) => key.thumbprint);
const later = (): number => Date.now() + PUBLISHED_BEFORE_USE_MS + 1_000;

describe('signing keys are made once and kept from others', () => {
  it('one for each purpose, readable by their owner alone, the same at the next start', () => {
    const keys = ensureSigningKeys(dir);
    expect(keys.map(({ purpose, state }) => [purpose, state])).toEqual(
      KEY_PURPOSES.map((purpose) => [purpose, 'active']),
    );
    expect(new Set(keys.map(({ thumbprint }) => thumbprint)).size).toBe(KEY_PURPOSES.length);
    for (const purpose of KEY_PURPOSES) {
      expect(statSync(keyPath(dir, purpose, 'active')).mode & 0o777).toBe(0o600);
      expect(statSync(join(dir, purpose)).mode & 0o077).toBe(0);
      expect(readdirSync(join(dir, purpose))).toEqual(['active.pem']);
    }
    expect(ensureSigningKeys(dir)).toEqual(keys);
    expect(loadSigningKeys(dir)).toEqual(keys);
  });

  it('when many processes start at once, all of them have the same keys', async () => {
    const script = `
      import { ensureSigningKeys } from ${JSON.stringify(new URL('../../../shared/receipts/signing/files/key-files.ts', import.meta.url).href)};
      console.log(JSON.stringify(ensureSigningKeys(process.argv[1]).map((key) => key.thumbprint)));`;
    const run = promisify(execFile);
    const starts = Array.from({ length: 6 }, () =>
      run(process.execPath, ['--input-type=module', '-e', script, dir]),
    );
    const seen = new Set((await Promise.all(starts)).map(({ stdout }) => stdout));
    expect(seen.size).toBe(1);
    expect(JSON.parse([...seen][0]!)).toEqual(
      loadSigningKeys(dir).map(({ thumbprint }) => thumbprint),
    );
    for (const purpose of KEY_PURPOSES)
      expect(readdirSync(join(dir, purpose))).toEqual(['active.pem']);
  }, 30_000);

  it('missing keys are named, with the command that makes them', () => {
    expect(() => loadSigningKeys(dir)).toThrow(problem('missing'));
    ensureSigningKeys(dir);
    rmSync(keyPath(dir, 'anchor', 'active'));
    expect(() => loadSigningKeys(dir)).toThrow(
      /for anchor in .*openssl genpkey -algorithm ed25519 -out .*anchor\/active\.pem/,
    );
  });

  it.each([0o640, 0o604, 0o660, 0o666])('a key with mode %o is refused', (mode) => {
    ensureSigningKeys(dir);
    chmodSync(keyPath(dir, 'receipts', 'active'), mode);
    expect(() => loadSigningKeys(dir)).toThrow(problem('readable_by_others'));
    expect(() => ensureSigningKeys(dir)).toThrow(/chmod 600/);
  });

  it.each([
    ['nothing', ''],
    ['text', 'not a key'],
    ['half a key', '-----BEGIN PRIVATE KEY-----\nMC4CAQAw\n-----END PRIVATE KEY-----\n'],
    [
      'another kind of key',
      generateKeyPairSync('ed448').privateKey.export({ type: 'pkcs8', format: 'pem' }),
    ],
    ['megabytes', '-'.repeat(1_000_000)],
  ])('%s in place of a key is refused, and not shown', (_, content) => {
    ensureSigningKeys(dir);
    writeFileSync(keyPath(dir, 'receipts', 'active'), content, { mode: 0o600 });
    try {
      loadSigningKeys(dir);
      expect.unreachable();
    } catch (error) {
      expect(error).toEqual(problem('not_a_key'));
      expect((error as Error).message).not.toContain('PRIVATE');
    }
  });

  it('a process that only publishes needs no private key; one that signs says which it lacks', () => {
    ensureSigningKeys(dir);
    const path = keyPath(dir, 'receipts', 'active');
    const pem = createPublicKey(readFileSync(path)).export({
      type: 'spki',
      format: 'pem',
    });
    const before = didDocument(loadSigningKeys(dir), PUBLIC_URL);
    writeFileSync(path, pem);
    chmodSync(path, 0o644);
    expect(didDocument(loadSigningKeys(dir), PUBLIC_URL)).toEqual(before);
    const sign = () => currentReceiptSigner({ dir, did: issuer.did }, () => {});
    expect(sign).toThrow(problem('public_only'));
    expect(activeKey(loadSigningKeys(dir), 'packs').privateKeyPem).toContain('PRIVATE KEY');
  });
});

describe('rotation publishes a key before it signs', () => {
  it('first published, then used; the old one stays published and its private half is gone', () => {
    const [old] = ensureSigningKeys(dir).map(({ thumbprint }) => thumbprint);
    const published = rotateSigningKey(dir, 'receipts', Date.now());
    expect(published).toMatchObject({ step: 'published' });
    expect(activeKey(loadSigningKeys(dir), 'receipts').thumbprint).toBe(old);
    expect(inState('next')).toEqual([published.thumbprint]);

    expect(() => rotateSigningKey(dir, 'receipts', Date.now())).toThrow(
      problem('published_too_recently'),
    );

    expect(rotateSigningKey(dir, 'receipts', later())).toEqual({
      step: 'activated',
      thumbprint: published.thumbprint,
      retired: old,
    });
    expect([inState('active'), inState('next'), inState('retired')]).toEqual([
      [published.thumbprint],
      [],
      [old],
    ]);
    const files = readdirSync(join(dir, 'receipts'), { recursive: true, encoding: 'utf8' }).filter(
      (name) => name.endsWith('.pem'),
    );
    const holding = files.filter((name) =>
      readFileSync(join(dir, 'receipts', name), 'utf8').includes('PRIVATE'),
    );
    expect(holding).toEqual(['active.pem']);
  });

  it('receipts from before and after verify with the did.json of after', () => {
    const signed = () =>
      createReceiptSigner({
        privateKeyPem: activeKey(loadSigningKeys(dir), 'receipts').privateKeyPem!,
        did: issuer.did,
      }).sign(buildReceipt(INPUTS['full']!));
    ensureSigningKeys(dir);
    const before = signed();
    rotateSigningKey(dir, 'receipts', Date.now());
    const during = signed();
    const publishedFirst = trustedKeysOf(
      JSON.stringify(didDocument(loadSigningKeys(dir), PUBLIC_URL)),
    );
    rotateSigningKey(dir, 'receipts', later());
    const after = signed();
    const keys = trustedKeysOf(JSON.stringify(didDocument(loadSigningKeys(dir), PUBLIC_URL)));
    for (const text of [before, during, after])
      expect(verifyReceipt(text, keys, SIGNED_AT).code).toBe('good');
    expect(verifyReceipt(after, publishedFirst, SIGNED_AT).code).toBe('good');
    expect(
      new Set([before, during, after].map((text) => JSON.parse(text).proof.verificationMethod))
        .size,
    ).toBe(2);
  });

  it('a crash between its two steps loses nothing: the active key stays active, and it can go on', () => {
    ensureSigningKeys(dir);
    const next = rotateSigningKey(dir, 'receipts', Date.now()).thumbprint;
    const { thumbprint, privateKeyPem } = activeKey(loadSigningKeys(dir), 'receipts');
    mkdirSync(join(dir, 'receipts', 'retired'));
    writeFileSync(
      join(dir, 'receipts', 'retired', `${thumbprint}.pem`),
      createPublicKey(privateKeyPem!).export({ type: 'spki', format: 'pem' }),
    );
    expect([inState('active'), inState('retired')]).toEqual([[thumbprint], []]);
    rotateSigningKey(dir, 'receipts', later());
    expect([inState('active'), inState('retired')]).toEqual([[next], [thumbprint]]);
  });

  it('a running process can notice', () => {
    ensureSigningKeys(dir);
    const versions = [signingKeysVersion(dir)];
    expect(signingKeysVersion(dir)).toBe(versions[0]);
    rotateSigningKey(dir, 'receipts', Date.now());
    versions.push(signingKeysVersion(dir));
    rotateSigningKey(dir, 'receipts', later());
    versions.push(signingKeysVersion(dir));
    expect(new Set(versions).size).toBe(3);
  });

  it('the time of publishing is that of the file, so a copy of an older one may be used', () => {
    ensureSigningKeys(dir);
    rotateSigningKey(dir, 'receipts', Date.now());
    const longAgo = new Date(Date.now() - PUBLISHED_BEFORE_USE_MS - 1_000);
    utimesSync(keyPath(dir, 'receipts', 'next'), longAgo, longAgo);
    expect(rotateSigningKey(dir, 'receipts', Date.now()).step).toBe('activated');
  });
});

describe('a revoked key is no longer vouched for', () => {
  it('only after it was rotated out; then did.json marks it and jwks.json leaves it out', () => {
    const [old] = ensureSigningKeys(dir).map(({ thumbprint }) => thumbprint);
    expect(() => revokeSigningKey(dir, 'receipts', old!, Date.now())).toThrow(
      problem('unknown_key'),
    );
    expect(() => revokeSigningKey(dir, 'receipts', 'nobody', Date.now())).toThrow(
      problem('unknown_key'),
    );
    rotateSigningKey(dir, 'receipts', Date.now());
    rotateSigningKey(dir, 'receipts', later());
    revokeSigningKey(dir, 'receipts', old!, SIGNED_AT);
    revokeSigningKey(dir, 'receipts', old!, SIGNED_AT + 1);
    expect([inState('revoked'), inState('retired')]).toEqual([[old], []]);
    const keys = loadSigningKeys(dir);
    const did = didDocument(keys, PUBLIC_URL);
    const id = `${issuer.did}#${old}`;
    expect(did.verificationMethod.find((method) => method.id === id)).toMatchObject({
      revoked: '2026-11-20T09:38:06.007Z',
    });
    expect(did.assertionMethod).not.toContain(id);
    expect(jwks(keys, PUBLIC_URL).keys.map(({ kid }) => kid)).not.toContain(id);
  });
});

describe('keys are published', () => {
  it('all of them as methods; only those that sign credentials may assert', () => {
    const keys = ensureSigningKeys(dir);
    const did = didDocument(keys, 'http://localhost:8080');
    expect(did.id).toBe('did:web:localhost%3A8080');
    expect(did.verificationMethod.map(({ id }) => id)).toEqual(
      keys.map(({ thumbprint }) => `did:web:localhost%3A8080#${thumbprint}`),
    );
    const asserting = keys.filter(({ purpose }) => purpose === 'receipts' || purpose === 'packs');
    expect(did.assertionMethod).toEqual(
      asserting.map(({ thumbprint }) => `${did.id}#${thumbprint}`),
    );
    expect(JSON.stringify([did, jwks(keys, PUBLIC_URL)])).not.toMatch(/"d"|PRIVATE/);
  });

  it('as JWKs that node reads back into the same keys', () => {
    const keys = ensureSigningKeys(dir);
    jwks(keys, PUBLIC_URL).keys.forEach((jwk, i) => {
      const key = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: 'jwk' });
      const own = createPublicKey(createPrivateKey(keys[i]!.privateKeyPem!));
      expect(key.equals(own)).toBe(true);
    });
  });

  it('under the thumbprint of RFC 8037, A.3', () => {
    const raw = Buffer.from('11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo', 'base64url');
    expect(jwkThumbprint(raw)).toBe('kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k');
    expect(publicKeyMultibase(raw)).toMatch(/^z6Mk/);
  });
});
