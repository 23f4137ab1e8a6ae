import { ed25519Verifier } from '#primitives';
import { decodeBase58 } from '#shared/kernel/base58.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import type { TrustedKey, TrustedKeys } from '../verify.ts';
import type { SigningKey } from './files/key-files.ts';
import { keyId, mayAssert } from './publication.ts';

/** Hundreds of rotations fit; more is not a did.json of ours. */
const DID_BYTES_MAX = 1_048_576;
/** `z` and 34 bytes in base58. */
const MULTIKEY_MAX = 64;
const MULTIKEY_BYTES = 34;

/**
 * The keys of a DID document, which the caller has decided to trust. Methods of other kinds than an Ed25519 Multikey
 * are passed over: they cannot have signed a receipt.
 * @throws MalformedData when it is no DID document, or has none of ours.
 */
export function trustedKeysOf(didJson: string): TrustedKeys {
  if (didJson.length > DID_BYTES_MAX)
    throw new MalformedData('too_large', '', 'The DID document is too large.');
  const did = objectOf(parse(didJson));
  const id = did['id'];
  const methods = did['verificationMethod'];
  if (typeof id !== 'string' || !id.startsWith('did:') || !Array.isArray(methods)) {
    throw new MalformedData(
      'wrong_value',
      '',
      'This is not a DID document: it needs an id and verificationMethod.',
    );
  }
  const asserting = listOf(did['assertionMethod']).map((entry) =>
    absolute(id, typeof entry === 'string' ? entry : objectOf(entry)['id']),
  );
  const keys = new Map<string, TrustedKey>();
  for (const entry of methods) {
    const method = objectOf(entry);
    const kid = absolute(id, method['id']);
    const key = trustedKey(method, asserting.includes(kid));
    if (key !== null && kid !== '') keys.set(kid, key);
  }
  if (keys.size === 0)
    throw new MalformedData('missing_field', '', 'The DID document has no Ed25519 Multikey.');
  return keys;
}

/** The same from this deployment's own keys, as `did` would publish them. */
export function trustedSigningKeys(keys: readonly SigningKey[], did: string): TrustedKeys {
  return new Map(
    keys.map((key) => {
      const revoked = key.state === 'revoked';
      const trusted = ed25519Key(key.publicKey, {
        controller: did,
        mayAssert: mayAssert(key),
        revoked,
      });
      return [keyId(did, key), trusted];
    }),
  );
}

function ed25519Key(raw: Uint8Array, facts: Omit<TrustedKey, 'publicKey' | 'verify'>): TrustedKey {
  return { ...facts, publicKey: raw, verify: ed25519Verifier(raw) };
}

function trustedKey(method: Record<string, unknown>, asserts: boolean): TrustedKey | null {
  const { type, controller, publicKeyMultibase, revoked } = method as Record<string, unknown> & {
    type?: unknown;
    controller?: unknown;
    publicKeyMultibase?: unknown;
    revoked?: unknown;
  };
  if (type !== 'Multikey' || typeof controller !== 'string') return null;
  if (typeof publicKeyMultibase !== 'string' || publicKeyMultibase.length > MULTIKEY_MAX)
    return null;
  const bytes = publicKeyMultibase.startsWith('z')
    ? decodeBase58(publicKeyMultibase.slice(1))
    : null;
  if (bytes?.length !== MULTIKEY_BYTES || bytes[0] !== 0xed || bytes[1] !== 0x01) return null;
  return ed25519Key(bytes.subarray(2), {
    controller,
    mayAssert: asserts,
    revoked: revoked !== undefined,
  });
}

/** A relative DID URL (`#key-1`) belongs to the document it stands in. */
function absolute(did: string, id: unknown): string {
  if (typeof id !== 'string') return '';
  return id.startsWith('#') ? did + id : id;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new MalformedData('not_json', '', 'The DID document is not JSON.');
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
