import { DID_DOCUMENT, JWKS, SEAL } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { checkJson } from '#shared/receipts/bounds.ts';
import { jwkThumbprint, publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import { jwksOf, type DidDocument } from '#shared/receipts/signing/publication.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import type { Bag } from './bag.ts';
import { textOf } from './lines.ts';

/**
 * The keys that a pack holds are to compare, not to trust: they have to say nothing else than the trusted ones said when
 * the pack was made. Later ones may be missing, and some may have been revoked since.
 * @returns ids of the keys in the pack; all that is signed in it is signed by one of them
 * @throws PackProblem `keys_mismatch`
 */
export function checkOwnKeys(bag: Bag, trusted: TrustedKeys): ReadonlySet<string> {
  const text = textOf(bag.read(DID_DOCUMENT), DID_DOCUMENT);
  const did = documentIn(text);
  const { issuer, proof } = bag.seal;
  if (did.id !== issuer) throw mismatch('It is the document of another issuer.');
  const own = ownKeys(text);
  for (const { id, controller, publicKeyMultibase: key, revoked } of did.verificationMethod) {
    const ownKey = own.get(id);
    const known = trusted.get(id);
    if (ownKey === undefined || controller !== issuer) throw mismatch(`${id} is not in its form.`);
    const names = id === `${issuer}#${jwkThumbprint(ownKey.publicKey)}`;
    if (!names || key !== publicKeyMultibase(ownKey.publicKey)) {
      throw mismatch(`${id} is another key than its name says.`);
    }
    if (known === undefined) throw mismatch(`The issuer has no key ${id}.`);
    if (revoked !== undefined && !known.revoked) throw mismatch(`${id} was not revoked.`);
    if (ownKey.mayAssert && !known.mayAssert && !known.revoked) {
      throw mismatch(`${id} may not assert.`);
    }
  }
  if (!own.has(proof.verificationMethod)) throw mismatch(`It has not the key of ${SEAL}.`);
  const stated = textOf(bag.read(JWKS), JWKS);
  if (stated !== `${JSON.stringify(jwksOf(did), null, 2)}\n`) {
    throw new PackProblem('keys_mismatch', JWKS, 'It has other keys than did.json.');
  }
  return new Set(own.keys());
}

const MEMBERS = ['@context', 'id', 'verificationMethod', 'assertionMethod'];

/** In the form in which it is published, with nothing else in it. */
function documentIn(text: string): DidDocument {
  let did: DidDocument;
  try {
    checkJson(text);
    did = JSON.parse(text) as DidDocument;
  } catch {
    throw mismatch('It is not JSON.');
  }
  const methods: unknown = did?.verificationMethod;
  const asserting: unknown = did?.assertionMethod;
  const isList = Array.isArray(methods) && Array.isArray(asserting);
  if (!isList || Object.keys(did).join() !== MEMBERS.join())
    throw mismatch('It is not in its form.');
  const same = {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id: did.id,
    verificationMethod: did.verificationMethod.map((method) => ({
      id: method.id,
      type: 'Multikey',
      controller: method.controller,
      publicKeyMultibase: method.publicKeyMultibase,
      ...(method.revoked === undefined ? {} : { revoked: method.revoked }),
    })),
    assertionMethod: did.verificationMethod
      .map(({ id }) => id)
      .filter((id) => did.assertionMethod.includes(id)),
  };
  if (`${JSON.stringify(same, null, 2)}\n` !== text) throw mismatch('It is not in its form.');
  return did;
}

function ownKeys(text: string): TrustedKeys {
  try {
    return trustedKeysOf(text);
  } catch (error) {
    throw mismatch((error as Error).message);
  }
}

function mismatch(message: string): PackProblem {
  return new PackProblem('keys_mismatch', DID_DOCUMENT, message);
}
