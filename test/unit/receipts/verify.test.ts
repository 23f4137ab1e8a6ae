import { sign } from 'node:crypto';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trustedKeysOf, trustedSigningKeys } from '#shared/receipts/signing/trust.ts';
import { encodeBase58 } from '#shared/kernel/base58.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { pendingReceipt } from '#shared/receipts/pending.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { signedData, verifyReceipt } from '#shared/receipts/verify.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { INPUTS, issuer, newIssuer, record, SIGNED_AT, type Loose } from './samples.ts';

const { key, privateKey, signer, did } = newIssuer();
const keys = trustedKeysOf(JSON.stringify(did));
const NOW = SIGNED_AT + 60_000;
const text = signer.sign(buildReceipt(INPUTS['full']!));
const codeOf = (source: string | Uint8Array): string => verifyReceipt(source, keys, NOW).code;

/** A copy with changes; `signedBy` also signs it anew, as an issuer that misbehaves could. */
function changed(edit: (document: Loose) => void, resign = false): string {
  const document = JSON.parse(text);
  edit(document);
  if (resign) {
    const data = signedData(document, document.proof);
    document.proof.proofValue = `z${encodeBase58(sign(null, data, privateKey))}`;
  }
  return canonicalize(document)!;
}

describe('a receipt that its issuer signed is good', () => {
  it.each(Object.keys(INPUTS))('%s', (kind) => {
    const signed = signer.sign(buildReceipt(INPUTS[kind]!));
    expect(verifyReceipt(signed, keys, NOW)).toMatchObject({
      good: true,
      code: 'good',
      kid: signer.kid,
      canonical: signed,
    });
  });

  it('with any white space and order of its fields', () => {
    const reversed = Object.fromEntries(Object.entries(JSON.parse(text)).toReversed());
    expect(verifyReceipt(JSON.stringify(reversed, null, 4), keys, NOW)).toMatchObject({
      good: true,
      canonical: text,
    });
  });

  it('also a refusal from before the rule was withheld, which names it', () => {
    const refused = buildReceipt(INPUTS['refused']!);
    refused.credentialSubject.policy = { rule: 'dual-use/nuclear', version: '2026-11-01' };
    expect(verifyReceipt(signer.sign(refused), keys, NOW).good).toBe(true);
  });

  it('under the keys of the deployment itself', () => {
    expect(verifyReceipt(text, trustedSigningKeys([key], issuer.did), NOW).good).toBe(true);
  });

  it('also after its key was retired or was not yet in use', () => {
    for (const state of ['retired', 'next'] as const) {
      expect(
        verifyReceipt(text, trustedSigningKeys([{ ...key, state }], issuer.did), NOW).good,
      ).toBe(true);
    }
  });
});

describe('no byte of a receipt can be changed', () => {
  it('not one, anywhere, into anything', () => {
    const bytes = Buffer.from(text);
    forAll(
      [fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })],
      { numRuns: runs(2_000) },
      (at, flip) => {
        const edited = Buffer.from(bytes);
        edited[at]! ^= flip;
        expect(verifyReceipt(edited, keys, NOW).good).toBe(false);
      },
    );
  });

  it('nor removed', () => {
    for (let at = 0; at < text.length; at += 7) {
      expect(verifyReceipt(text.slice(0, at) + text.slice(at + 1), keys, NOW).good).toBe(false);
    }
  });

  it('nor a field of it', () => {
    const leaves = (value: Loose, edit: (parent: Loose, name: string) => void): void => {
      for (const [name, member] of Object.entries(value)) {
        if (typeof member === 'object') leaves(member, edit);
        else edit(value, name);
      }
    };
    let count = 0;
    leaves(JSON.parse(text), () => (count += 1));
    for (let i = 0; i < count; i += 1) {
      let at = 0;
      const edited = changed((document) =>
        leaves(document, (parent, name) => {
          if (at++ === i)
            parent[name] = typeof parent[name] === 'number' ? parent[name] + 1 : `${parent[name]}1`;
        }),
      );
      expect(verifyReceipt(edited, keys, NOW).good).toBe(false);
    }
    expect(count).toBeGreaterThan(60);
  });
});

describe('the verdict says what is wrong', () => {
  const otherContext = issuer.contexts[1].replace(/[\w-]{43}(?=\.jsonld)/, '0'.repeat(43));
  it.each<[string, string, string]>([
    [
      'signature_invalid',
      'an edited field',
      changed((d) => (d.credentialSubject.outputTokens = 1)),
    ],
    [
      'signature_invalid',
      'another receipt’s proof',
      changed((d) => (d.proof = JSON.parse(signer.sign(buildReceipt(INPUTS['partial']!))).proof)),
    ],
    ['unknown_format', 'a swapped context', changed((d) => (d['@context'][1] = otherContext))],
    [
      'unknown_format',
      'a context of a later format, whose members are not known here',
      changed((d) => Object.assign(d, { later: (d['@context'][1] = otherContext) }), true),
    ],
    [
      'unknown_format',
      'a swapped context, signed',
      changed((d) => (d['@context'][1] = d.proof['@context'][1] = otherContext), true),
    ],
    [
      'unknown_context',
      'a context more, signed',
      changed(
        (d) => (d['@context'] = d.proof['@context'] = [...d['@context'], 'https://example.com/x']),
        true,
      ),
    ],
    [
      'unknown_context',
      'the contexts turned round, signed',
      changed((d) => (d['@context'] = d.proof['@context'] = d['@context'].toReversed()), true),
    ],
    [
      'unknown_context',
      'the base context twice, signed',
      changed(
        (d) => (d['@context'] = d.proof['@context'] = [VC_CONTEXT_URL, VC_CONTEXT_URL]),
        true,
      ),
    ],
    [
      'context_mismatch',
      'a proof over fewer contexts',
      changed((d) => (d.proof['@context'] = [VC_CONTEXT_URL]), true),
    ],
    ['not_signed', 'no proof', changed((d) => delete d.proof)],
    [
      'wrong_proof_type',
      'another type of proof',
      changed((d) => (d.proof.type = 'Ed25519Signature2020'), true),
    ],
    [
      'wrong_cryptosuite',
      'another cryptosuite',
      changed((d) => (d.proof.cryptosuite = 'eddsa-rdfc-2022'), true),
    ],
    [
      'wrong_proof_purpose',
      'another purpose',
      changed((d) => (d.proof.proofPurpose = 'authentication'), true),
    ],
    [
      'issuer_mismatch',
      'a key of another issuer',
      changed((d) => {
        d.issuer = 'did:web:other.example';
        d.measurement.qualifiedAssociation.agent = d.issuer;
      }, true),
    ],
    [
      'issuer_mismatch',
      'an issuer whose name begins alike',
      changed((d) => {
        d.issuer = d.issuer.slice(0, -1);
        d.measurement.qualifiedAssociation.agent = d.issuer;
      }, true),
    ],
    [
      'unknown_key',
      'a key that was never published',
      changed((d) => (d.proof.verificationMethod += 'x'), true),
    ],
    [
      'malformed_signature',
      'a signature in another encoding',
      changed((d) => (d.proof.proofValue = `u${'A'.repeat(86)}`)),
    ],
    ['malformed_signature', 'a short signature', changed((d) => (d.proof.proofValue = 'z111'))],
    [
      'malformed_signature',
      'an endless signature',
      changed((d) => (d.proof.proofValue = `z${'2'.repeat(1_000)}`)),
    ],
    [
      'in_the_future',
      'signed next year',
      changed((d) => (d.validFrom = '2027-11-20T09:38:06.007Z'), true),
    ],
    [
      'wrong_value',
      'signed on a day that is none',
      changed((d) => (d.validFrom = '2026-02-31T09:38:06Z'), true),
    ],
    [
      'duplicate_key',
      'a field twice',
      text.replace('"issuer":', '"issuer":"did:web:other.example","issuer":'),
    ],
    [
      'unknown_field',
      'a field more, signed',
      changed((d) => (d.credentialSubject.note = 'x'), true),
    ],
    ['not_json', 'half a receipt', text.slice(0, text.length / 2)],
  ])('%s: %s', (code, _, source) => {
    expect(verifyReceipt(source, keys, NOW)).toMatchObject({ good: false, code });
  });

  it('in_the_future allows for clocks that differ by minutes', () => {
    expect(verifyReceipt(text, keys, SIGNED_AT - 60_000).good).toBe(true);
    expect(verifyReceipt(text, keys, SIGNED_AT - 3_600_000).code).toBe('in_the_future');
  });

  it('what an answer carries while its receipt is late is judged to be pending', () => {
    expect(codeOf(JSON.stringify(pendingReceipt(issuer, record.requestId)))).toBe('pending');
  });

  it('unknown_key: another issuer’s key under the same name', () => {
    const stranger = newIssuer();
    expect(codeOf(stranger.signer.sign(buildReceipt(INPUTS['full']!)))).toBe('unknown_key');
    expect(verifyReceipt(text, new Map(), NOW)).toMatchObject({
      code: 'unknown_key',
      kid: signer.kid,
    });
  });

  it('signature_invalid: another key published under the id', () => {
    const stranger = newIssuer();
    const method = { ...stranger.did.verificationMethod[0]!, id: signer.kid };
    const swapped = trustedKeysOf(JSON.stringify({ ...did, verificationMethod: [method] }));
    expect(verifyReceipt(text, swapped, NOW).code).toBe('signature_invalid');
  });

  it('unknown_key: a key that another controls', () => {
    const method = { ...did.verificationMethod[0]!, controller: 'did:web:other.example' };
    const foreign = trustedKeysOf(JSON.stringify({ ...did, verificationMethod: [method] }));
    expect(verifyReceipt(text, foreign, NOW).code).toBe('unknown_key');
  });

  it('key_not_authorised: a key of the issuer that signs checkpoints', () => {
    const checkpoints = trustedSigningKeys([{ ...key, purpose: 'checkpoints' }], issuer.did);
    expect(verifyReceipt(text, checkpoints, NOW).code).toBe('key_not_authorised');
    const unlisted = trustedKeysOf(JSON.stringify({ ...did, assertionMethod: [] }));
    expect(verifyReceipt(text, unlisted, NOW).code).toBe('key_not_authorised');
  });

  it('key_revoked: a receipt of any date', () => {
    const revoked = trustedSigningKeys([{ ...key, state: 'revoked' }], issuer.did);
    expect(verifyReceipt(text, revoked, NOW).code).toBe('key_revoked');
    const method = { ...did.verificationMethod[0]!, revoked: '2099-01-01T00:00:00Z' };
    const published = trustedKeysOf(JSON.stringify({ ...did, verificationMethod: [method] }));
    expect(verifyReceipt(text, published, NOW).code).toBe('key_revoked');
  });
});
