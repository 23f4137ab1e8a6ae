import {
  createReceiptSigner,
  type CredentialSigner,
  type ReceiptSigner,
  signerWith,
} from '../signer.ts';
import type { SigningAgent } from '../sockets/signing-agent.ts';
import { currentKeys } from './current-keys.ts';
import { heldKey } from './held-key.ts';
import { activeKey, loadSigningKeys, type SigningKey } from './key-files.ts';

/** Where the signing keys of a process are. */
export interface SigningKeysPlace {
  /** Of key files, or of public halves. */
  dir: string;
  /** Has the private halves of the keys whose public half alone is in the directory. */
  agent?: SigningAgent | undefined;
  /** The issuer, `did:web:…`. */
  did: string;
}

/**
 * The signer of receipts whose key is active, made anew when keys are rotated.
 * @throws SigningKeyProblem as `currentKeys` does
 */
export function currentReceiptSigner(
  place: SigningKeysPlace,
  onError: (error: unknown) => void,
): () => ReceiptSigner {
  return currentKeys(place.dir, (keys) => signerOf('receipts', keys, place), onError);
}

/** The signer of packs whose key is active now. @throws SigningKeyProblem */
export function packSigner(place: SigningKeysPlace): CredentialSigner {
  return signerOf('packs', loadSigningKeys(place.dir), place);
}

/**
 * The same, with an agent that holds the key now: a pack may take hours, and is sealed at its end.
 * @throws SigningKeyProblem also `agent_away`, `agent_refused`
 */
export function packSignerAtHand(place: SigningKeysPlace): CredentialSigner {
  const { privateKeyPem, publicKey } = activeKey(loadSigningKeys(place.dir), 'packs');
  if (privateKeyPem === undefined) place.agent?.demand(publicKey);
  return packSigner(place);
}

function signerOf(
  purpose: 'packs' | 'receipts',
  keys: readonly SigningKey[],
  { agent, did }: SigningKeysPlace,
): CredentialSigner & ReceiptSigner {
  const key = activeKey(keys, purpose);
  return key.privateKeyPem === undefined
    ? signerWith({ did, ...heldKey(key, agent) })
    : createReceiptSigner({ did, privateKeyPem: key.privateKeyPem });
}
