import type { Witness } from '#shared/ledger/cosignatures.ts';
import { COSIGNATURE_TYPE } from '#shared/ledger/notes.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';

/** The C2SP verifier key of a witness (Ed25519 cosignatures, type 0x04), as its operator would hand it out. */
export function witnessKey({ name, publicKey }: Witness): string {
  return formatVerifierKey(name, COSIGNATURE_TYPE, publicKey);
}
