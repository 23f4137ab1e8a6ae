import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { forAll } from '#test/support/for-all.ts';
import { INPUTS, newIssuer, SIGNED_AT } from './samples.ts';

const { key, signer, did } = newIssuer();
const NOW = SIGNED_AT + 60_000;
const text = signer.sign(buildReceipt(INPUTS['full']!));

describe('a did.json that is none', () => {
  it.each([
    '',
    '[]',
    '{}',
    'null',
    '{"id":"did:web:a"}',
    '{"id":1,"verificationMethod":[]}',
    '{"id":"did:web:a","verificationMethod":[]}',
    '{"id":"did:web:a","verificationMethod":[null,1,{"type":"Multikey"}]}',
  ])('%j is refused', (json) => {
    expect(() => trustedKeysOf(json)).toThrow(expect.objectContaining({ name: 'MalformedData' }));
  });

  it('or any other JSON, without a crash', () => {
    const method = fc.record(
      {
        id: fc.json(),
        type: fc.constant('Multikey'),
        controller: fc.string(),
        publicKeyMultibase: fc.oneof(
          fc.string(),
          fc.constant(did.verificationMethod[0]!.publicKeyMultibase),
        ),
      },
      { requiredKeys: [] },
    );
    forAll(
      [
        fc.record({
          id: fc.constant('did:web:a'),
          verificationMethod: fc.array(fc.oneof(method, fc.jsonValue())),
          assertionMethod: fc.jsonValue(),
        }),
      ],
      (document) => {
        try {
          trustedKeysOf(JSON.stringify(document));
        } catch (error) {
          expect(error).toMatchObject({ name: 'MalformedData' });
        }
      },
    );
  });

  it('relative key ids and embedded methods are understood', () => {
    const fragment = `#${key.thumbprint}`;
    const relative = {
      ...did,
      verificationMethod: [{ ...did.verificationMethod[0]!, id: fragment }],
      assertionMethod: [{ id: fragment }],
    };
    expect(verifyReceipt(text, trustedKeysOf(JSON.stringify(relative)), NOW).good).toBe(true);
  });
});
