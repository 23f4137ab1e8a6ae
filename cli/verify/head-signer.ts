import { type SignedNote, signerOf } from '#shared/ledger/notes.ts';
import type { TrustedKey, TrustedKeys } from '#shared/receipts/verify.ts';

/**
 * The trusted key that signed a head, with its kid; undefined when none did. Keys that sign receipts sign no heads, so that
 * one that leaks cannot vouch for both.
 * @param passes which of the others count: those that are not revoked when absent
 */
export function headSigner(
  note: SignedNote,
  keys: TrustedKeys,
  passes: (kid: string, key: TrustedKey) => boolean = (_, { revoked }) => !revoked,
): readonly [kid: string, key: TrustedKey] | undefined {
  return [...keys].find(([kid, key]) => {
    if (key.mayAssert || !passes(kid, key)) return false;
    const verify = (_: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean =>
      key.verify(data, signature);
    return signerOf(note, { publicKeys: [key.publicKey], verify }) !== null;
  });
}
