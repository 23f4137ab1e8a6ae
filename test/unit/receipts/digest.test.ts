import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { requestDigest, startSaltedDigest } from '#shared/receipts/digest.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { digestOf, INPUTS, record } from './samples.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';

const full = INPUTS['full']!;

describe('digests', () => {
  it('are SHA-256 over the salt and the bytes, as a multihash', () => {
    const body = Buffer.from('{"model":"llama-3.1-8b"}');
    const expected = createHash('sha256').update(Buffer.alloc(16, 7)).update(body).digest();
    expect(requestDigest(record.salt, body)).toBe(expected.toString('base64url'));
    const { credentialSubject } = buildReceipt({
      ...full,
      record: { ...record, requestDigest: requestDigest(record.salt, body) },
    });
    const multihash = Buffer.from(credentialSubject.requestDigest.slice(1), 'base64url');
    expect(multihash).toEqual(Buffer.concat([Buffer.from([0x12, 0x20]), expected]));
    expect(credentialSubject.salt).toBe(`u${record.salt}`);
  });

  it('of a stream do not depend on where it was cut', () => {
    const piece = fc.oneof(
      { weight: 9, arbitrary: fc.string({ unit: anyCharacter, maxLength: 200 }) },
      { weight: 1, arbitrary: fc.constantFrom('é'.repeat(21_830), 'a'.repeat(22_000)) },
    );
    forAll([fc.array(piece, { maxLength: 5 })], (pieces) => {
      const digest = startSaltedDigest(record.salt);
      let sent = '';
      for (const text of pieces) {
        digest.update(text);
        sent += text;
        expect(digest.soFar()).toBe(requestDigest(record.salt, Buffer.from(sent)));
      }
      expect(digest.end()).toBe(requestDigest(record.salt, Buffer.from(sent)));
    });
  });

  it('are the same of large content as of small: of bytes and of text, to the last byte', () => {
    for (const length of [21_000, 22_000, 65_500, 65_514, 65_515, 65_536, 200_000]) {
      const text = 'é'.repeat(length / 2);
      const expected = createHash('sha256').update(Buffer.alloc(16, 7)).update(text);
      const digest = expected.digest('base64url');
      expect(requestDigest(record.salt, Buffer.from(text))).toBe(digest);
      expect(startSaltedDigest(record.salt).update(text).end()).toBe(digest);
    }
  });

  it('of equal bytes differ when the salt does', () => {
    const other = Buffer.alloc(16, 8).toString('base64url');
    expect(requestDigest(other, Buffer.from('x'))).not.toBe(
      requestDigest(record.salt, Buffer.from('x')),
    );
    expect(digestOf('x')).not.toBe(requestDigest(record.salt, Buffer.from('x')));
  });
});

describe('the issuer of an address', () => {
  it.each([
    ['https://gateway.example', 'did:web:gateway.example', 'gateway.example/log/'],
    ['http://localhost:8080/', 'did:web:localhost%3A8080', 'localhost:8080/log/'],
    ['https://example.com/docket', 'did:web:example.com:docket', 'example.com/docket/log/'],
  ])('%s', (publicUrl, did, logs) => {
    expect(receiptIssuer(publicUrl)).toMatchObject({ did, logs });
  });
});
