import { decodeBase58 } from '#shared/kernel/base58.ts';
import { NOTE_TYPE } from '#shared/ledger/notes.ts';
import { logOrigins, treeOrigin } from '#shared/ledger/origins.ts';
import { formatVerifierKey } from '#shared/ledger/verifier-keys.ts';
import { didWeb } from '../issuer.ts';
import { base64url, publicKeyMultibase } from './identifiers.ts';
import type { KeyPurpose, SigningKey } from './files/key-files.ts';

/** Keys that may sign credentials. Those of checkpoints and of the anchor sign notes and must not pass as an issuer's. */
const ASSERTING: readonly KeyPurpose[] = ['receipts', 'packs'];

interface VerificationMethod {
  id: string;
  type: 'Multikey';
  controller: string;
  publicKeyMultibase: string;
  revoked?: string;
}

export interface DidDocument {
  '@context': string[];
  id: string;
  verificationMethod: VerificationMethod[];
  assertionMethod: string[];
}

/** The id under which a key is published and named in proofs. */
export function keyId(did: string, key: Pick<SigningKey, 'thumbprint'>): string {
  return `${did}#${key.thumbprint}`;
}

/** Whether a credential signed by this key counts: the `assertionMethod` of did.json. */
export function mayAssert({ purpose, state }: SigningKey): boolean {
  return ASSERTING.includes(purpose) && state !== 'revoked';
}

/**
 * `/.well-known/did.json`: every key there ever was. The next one is in it before it signs; retired ones stay, or what
 * they signed could no longer be checked; a revoked one is marked and may assert nothing.
 */
export function didDocument(keys: readonly SigningKey[], publicUrl: string): DidDocument {
  const did = didWeb(publicUrl);
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: did,
    verificationMethod: keys.map((key) => ({
      id: keyId(did, key),
      type: 'Multikey',
      controller: did,
      publicKeyMultibase: publicKeyMultibase(key.publicKey),
      ...(key.state === 'revoked' && key.since !== undefined ? { revoked: key.since } : {}),
    })),
    assertionMethod: keys.filter(mayAssert).map((key) => keyId(did, key)),
  };
}

export interface JsonWebKey {
  kty: 'OKP';
  crv: 'Ed25519';
  x: string;
  kid: string;
  use: 'sig';
  alg: 'EdDSA';
}

/** `/.well-known/jwks.json`: the same keys as JWKs (RFC 8037). A JWK cannot say that it was revoked, so those are left out. */
export function jwks(keys: readonly SigningKey[], publicUrl: string): { keys: JsonWebKey[] } {
  return jwksOf(didDocument(keys, publicUrl));
}

/** The same from the did.json that is published beside it. */
export function jwksOf({ verificationMethod }: DidDocument): { keys: JsonWebKey[] } {
  const vouchedFor = verificationMethod.filter(({ revoked }) => revoked === undefined);
  return {
    keys: vouchedFor.map(({ id, publicKeyMultibase: key }) => ({
      kty: 'OKP',
      crv: 'Ed25519',
      x: base64url(decodeBase58(key.slice(1))!.subarray(MULTICODEC_BYTES)),
      kid: id,
      use: 'sig',
      alg: 'EdDSA',
    })),
  };
}

/** A key that signs heads of logs, as C2SP tools take it: such a key goes by the name of its log. */
export interface PublishedVerifierKey {
  /** As did.json has it. */
  id: string;
  purpose: KeyPurpose;
  state: SigningKey['state'];
  /** Origin of the heads that it signs. */
  log: string;
  /** `<log>+<key id>+<base64 of type and key>` (C2SP signed-note, verifier keys). */
  vkey: string;
}

/**
 * `/.well-known/verifier-keys.json`: the keys of the anchor log, and those of the logs of an organisation where one is named. Keys
 * for receipts and packs sign no notes and have no such form.
 * @param generation the tree of these logs that declared losses have opened; the first when absent
 */
export function verifierKeys(
  keys: readonly SigningKey[],
  publicUrl: string,
  orgId?: string,
  generation = 1,
): { keys: PublishedVerifierKey[] } {
  const origins = logOrigins(publicUrl);
  const own = orgId === undefined ? [] : [origins.organisation(orgId), origins.audit(orgId)];
  const logs: Partial<Record<KeyPurpose, readonly string[]>> = {
    anchor: [treeOrigin(origins.anchor, generation)],
    checkpoints: own.map((log) => treeOrigin(log, generation)),
  };
  const did = didWeb(publicUrl);
  return {
    keys: keys.flatMap((key) =>
      (logs[key.purpose] ?? []).map((log) => ({
        id: keyId(did, key),
        purpose: key.purpose,
        state: key.state,
        log,
        vkey: formatVerifierKey(log, NOTE_TYPE, key.publicKey),
      })),
    ),
  };
}

/** What stands before the key in a Multikey. */
const MULTICODEC_BYTES = 2;
