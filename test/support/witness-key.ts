import type { Witness } from '#shared/ledger/cosignatures.ts';
import { noteKeyHash } from '#shared/ledger/notes.ts';

/** The C2SP verifier key of a witness (Ed25519 cosignatures, type 0x04), as its operator would hand it out. */
export function witnessKey({ name, publicKey }: Witness): string {
  const id = Buffer.from(noteKeyHash(name, publicKey, 'cosignature')).toString('hex');
  return `${name}+${id}+${Buffer.from([0x04, ...publicKey]).toString('base64')}`;
}
