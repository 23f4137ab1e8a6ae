import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { cosignedMessage, cosignedTree, type Witness } from '#shared/ledger/cosignatures.ts';
import {
  COSIGNATURE_TYPE,
  ML_DSA_44_TYPE,
  noteKeyHash,
  type NoteSignature,
} from '#shared/ledger/notes.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';

/** A witness of a type, with its private key. */
export function makeWitness(
  name: string,
  type: number = COSIGNATURE_TYPE,
): Witness & { privateKey: KeyObject } {
  const isMlDsa = type === ML_DSA_44_TYPE;
  const pair = isMlDsa ? generateKeyPairSync('ml-dsa-44') : generateKeyPairSync('ed25519');
  const der = pair.publicKey.export({ type: 'spki', format: 'der' });
  const publicKey = new Uint8Array(der.subarray(isMlDsa ? -1_312 : -32));
  return { name, type, publicKey, privateKey: pair.privateKey };
}

/** The C2SP verifier key of a witness, as its operator would hand it out. */
export function witnessKey({ name, type, publicKey }: Witness): string {
  return formatVerifierKey(name, type, publicKey);
}

/** A witness's line under a checkpoint, signed with this key, which need not be its own. */
export function cosign(
  { name, type, publicKey }: Witness,
  privateKey: KeyObject,
  text: string,
  time: number,
): NoteSignature {
  const stamp = Buffer.alloc(8);
  stamp.writeBigUInt64BE(BigInt(time));
  const isTree = type === ML_DSA_44_TYPE;
  const message = isTree ? cosignedTree(name, text, time)! : cosignedMessage(text, time);
  const signature = new Uint8Array(Buffer.concat([stamp, sign(null, message, privateKey)]));
  return { name, keyHash: noteKeyHash(name, publicKey, type), signature };
}
