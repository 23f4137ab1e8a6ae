/** Where there is no Node, digests and text forms are computed by hand: they are those of Node. */
import { hash, sign } from 'node:crypto';
import { crc32 as zlibCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import * as node from '#shared/kernel/primitives/node.ts';
import * as portable from '#shared/kernel/primitives/portable.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';
import { withSignatures } from '#shared/kernel/primitives/signature-checks.ts';
import { ML_DSA_44_TYPE } from '#shared/ledger/notes.ts';
import { makeWitness } from '#test/support/witness-key.ts';

const bytes = fc.uint8Array({ maxLength: 300 });
const forms = ['hex', 'base64', 'base64url'] as const;

describe('the primitives of browsers', () => {
  it('digests are computed in browsers as Node computes them, at every length', () => {
    for (let length = 0; length <= 300; length += 1) {
      const message = new Uint8Array(length).fill(length);
      expect(Buffer.from(portable.sha256(message)).toString('hex')).toBe(hash('sha256', message));
    }
    forAll([fc.oneof(bytes, fc.string({ unit: 'grapheme' }))], (data) => {
      expect(portable.sha256(data)).toEqual(Uint8Array.from(node.sha256(data)));
      expect(portable.sha256Text(data, 'base64url')).toBe(node.sha256Text(data, 'base64url'));
    });
  });

  it('a digest of bytes as they come is that of all of them, with each of several ends', () => {
    forAll([fc.array(bytes, { maxLength: 6 }), bytes, bytes], (parts, one, other) => {
      const whole = (end: Uint8Array): Uint8Array => node.sha256(Buffer.concat([...parts, end]));
      for (const { startSha256 } of [node, portable]) {
        const running = startSha256();
        for (const part of parts) running.update(part);
        for (const end of [one, other, one]) {
          expect(Buffer.from(running.digestWith(end))).toEqual(whole(end));
        }
      }
    });
  });

  it('lengths, checksums and text forms of bytes are in browsers as in Node', () => {
    forAll([bytes, fc.string({ unit: anyCharacter })], (data, text) => {
      expect(portable.crc32(data)).toBe(zlibCrc32(data));
      expect(portable.utf8Length(text)).toBe(node.utf8Length(text));
      for (const form of forms) {
        const written = node.encodeBytes(data, form);
        expect(portable.encodeBytes(data, form)).toBe(written);
        expect(portable.decodeBytes(written, form)).toEqual(data);
      }
    });
  });

  it('signatures by ML-DSA-44 hold in browsers as in Node, and are not judged by a browser that has none', async () => {
    const { privateKey, publicKey } = makeWitness('witness.example/w', ML_DSA_44_TYPE);
    const data = Buffer.from('a message');
    const good = sign(null, data, privateKey);
    const bad = good.with(0, good[0]! ^ 1);
    const judged = (signature: Uint8Array) =>
      withSignatures(() => portable.mlDsa44Holds(publicKey, data, signature));
    for (const [signature, holds] of [[good, true] as const, [bad, false] as const]) {
      expect(node.mlDsa44Holds(publicKey, data, signature)).toBe(holds);
      expect(await judged(signature)).toBe(holds);
    }
    const other = makeWitness('witness.example/w', ML_DSA_44_TYPE);
    vi.spyOn(crypto.subtle, 'importKey').mockRejectedValueOnce(new Error('NotSupportedError'));
    const of = () => portable.mlDsa44Holds(other.publicKey, data, good);
    expect(await withSignatures(of)).toBe(null);
  });

  it('text that is not the base64 of its bytes is told apart in browsers as in Node', () => {
    forAll([fc.string({ unit: 'binary-ascii' })], (text) => {
      for (const form of ['base64', 'base64url'] as const) {
        const same = (each: typeof node | typeof portable): boolean =>
          each.encodeBytes(each.decodeBytes(text, form), form) === text;
        expect(same(portable)).toBe(same(node));
      }
    });
  });
});
