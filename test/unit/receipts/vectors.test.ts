/** Published vectors of eddsa-jcs-2022 (W3C Data Integrity EdDSA Cryptosuites 1.0, appendix B.3). */
import { createPublicKey, hash, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import { decodeBase58, encodeBase58 } from '#shared/kernel/base58.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { signedData } from '#shared/receipts/verify.ts';
import { forAll } from '#test/support/for-all.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../vectors/eddsa-jcs-2022/${name}`, import.meta.url), 'utf8').trim();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const signed = JSON.parse(read('signedJCS.json')) as {
  proof: { proofValue: string; verificationMethod: string };
};

describe('the published vectors of eddsa-jcs-2022', () => {
  it('canonical document and its hash', () => {
    const { proof: _, ...document } = signed;
    const canonical = canonicalJson(document);
    expect(canonical).toBe(read('canonDocJCS.txt'));
    expect(hash('sha256', canonical)).toBe(read('docHashJCS.txt'));
  });

  it('canonical proof configuration and its hash', () => {
    const canonical = canonicalJson(JSON.parse(read('proofConfigJCS.json')) as object);
    expect(canonical).toBe(read('proofCanonJCS.txt'));
    expect(hash('sha256', canonical)).toBe(read('proofHashJCS.txt'));
  });

  it('what is signed', () => {
    expect(hex(signedData(signed, signed.proof))).toBe(read('combinedHashJCS.txt'));
  });

  it('the signature, both ways through base58btc', () => {
    const text = read('sigBTC58JCS.txt').slice(1);
    expect(hex(decodeBase58(text)!)).toBe(read('sigHexJCS.txt'));
    expect(encodeBase58(Buffer.from(read('sigHexJCS.txt'), 'hex'))).toBe(text);
    expect(signed.proof.proofValue).toBe(`z${text}`);
  });

  it('the signature holds under the key that the method names', () => {
    const multikey = signed.proof.verificationMethod.split('#')[1]!;
    const key = publicKeyFromRaw(decodeBase58(multikey.slice(1))!.subarray(2));
    expect(publicKeyMultibase(rawPublicKey(key))).toBe(multikey);
    expect(createPublicKey(key.export({ type: 'spki', format: 'pem' })).asymmetricKeyType).toBe(
      'ed25519',
    );
    expect(
      verify(
        null,
        signedData(signed, signed.proof),
        key,
        Buffer.from(read('sigHexJCS.txt'), 'hex'),
      ),
    ).toBe(true);
  });
});

describe('base58btc', () => {
  it('equals arithmetic on one big number, for any bytes', () => {
    const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
    const slow = (bytes: Uint8Array): string => {
      let rest = BigInt(`0x00${hex(bytes)}`);
      let text = '';
      for (; rest > 0n; rest /= 58n) text = alphabet.charAt(Number(rest % 58n)) + text;
      return (
        '1'.repeat(
          bytes.findIndex((byte) => byte !== 0) === -1
            ? bytes.length
            : bytes.findIndex((byte) => byte !== 0),
        ) + text
      );
    };
    forAll([fc.uint8Array({ maxLength: 80 }), fc.nat(5)], (tail, zeros) => {
      const bytes = Uint8Array.from([...Array.from({ length: zeros }, () => 0), ...tail]);
      expect(encodeBase58(bytes)).toBe(slow(bytes));
      expect(hex(decodeBase58(encodeBase58(bytes))!)).toBe(hex(bytes));
    });
  });

  it.each(['0', 'O', 'I', 'l', 'é', ' '])('%s is not one of its digits', (digit) => {
    expect(decodeBase58(`abc${digit}`)).toBeNull();
  });
});
