import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildReceipt } from '#shared/receipts/build.ts';
import { requestDigest, startSaltedDigest } from '#shared/receipts/digest.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { digestOf, INPUTS, record } from './samples.ts';

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
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.array(fc.nat(200)), (bytes, cuts) => {
        const digest = startSaltedDigest(record.salt);
        const places = [
          0,
          ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b),
          bytes.length,
        ];
        for (let i = 1; i < places.length; i += 1)
          digest.update(bytes.subarray(places[i - 1], places[i]));
        expect(digest.end()).toBe(requestDigest(record.salt, bytes));
      }),
    );
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
