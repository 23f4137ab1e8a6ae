import { createPrivateKey } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trustedSigningKeys } from '#shared/receipts/signing/trust.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { ed25519Signer } from '#shared/receipts/signing/signer.ts';
import { signedData } from '#shared/receipts/verify.ts';
import { decodeBase58 } from '#shared/kernel/base58.ts';
import { forAll } from '#test/support/for-all.ts';
import { INPUTS, issuer, newIssuer, SIGNED_AT } from './samples.ts';

const { key, signer } = newIssuer();

/** Whether the proof of a signed document holds, for a document of any kind. */
function holds(text: string): boolean {
  const document = JSON.parse(text);
  const signature = decodeBase58(document.proof.proofValue.slice(1))!;
  const trusted = trustedSigningKeys([key], issuer.did).get(document.proof.verificationMethod)!;
  return trusted.verify(signedData(document, document.proof), signature);
}

describe('other credentials are signed as receipts are', () => {
  it('with any order and names of their fields', () => {
    const fields = fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((name) => !['__proto__', 'proof'].includes(name)),
      fc.jsonValue(),
    );
    forAll([fields], (more) => {
      const credential = {
        ...more,
        '@context': issuer.contexts,
        issuer: issuer.did,
        validFrom: '2026-11-20T09:38:06.007Z',
      };
      const text = signer.signCredential(credential);
      expect(text).toBe(canonicalize(JSON.parse(text)));
      expect(JSON.parse(text)).toMatchObject({
        proof: { created: credential.validFrom, verificationMethod: signer.kid },
      });
      expect(holds(text)).toBe(true);
    });
  });

  it('half a surrogate pair is refused', () => {
    const credential = {
      '@context': issuer.contexts,
      issuer: issuer.did,
      validFrom: '2026-11-20T09:38:06.007Z',
      name: '\ud800',
    };
    expect(() => signer.signCredential(credential)).toThrow(
      expect.objectContaining({ code: 'lone_surrogate' }),
    );
  });
});

describe('what is kept between signatures never leaks from one into another', () => {
  it('times and contexts that alternate', () => {
    const other = {
      ...issuer,
      contexts: [issuer.contexts[0], issuer.contexts[1].replace('gateway', 'other')] as const,
    };
    for (let i = 0; i < 12; i += 1) {
      const document = buildReceipt({
        ...INPUTS['full']!,
        issuer: i % 3 === 0 ? other : issuer,
        signedAt: SIGNED_AT + (i % 2),
      });
      const text = signer.sign(document);
      expect(JSON.parse(text)).toMatchObject({
        validFrom: document.validFrom,
        proof: { '@context': document['@context'] },
      });
      expect(holds(text)).toBe(true);
    }
  });

  it('a signed receipt is not signed again', () => {
    const document = JSON.parse(signer.sign(buildReceipt(INPUTS['full']!)));
    expect(() => signer.sign(document)).toThrow(/signed already/);
  });
});

describe('a signature', () => {
  it('of Ed25519 is the same by libsodium as by OpenSSL, for every key and everything signed', () => {
    forAll([fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array()], (seed, data) => {
      const privateKey = createPrivateKey({
        key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]),
        format: 'der',
        type: 'pkcs8',
      });
      const [bySodium, byOpenSsl] = [ed25519Signer(privateKey), ed25519Signer(privateKey, null)];
      expect(Buffer.from(bySodium(data))).toEqual(Buffer.from(byOpenSsl(data)));
    });
  });
});
