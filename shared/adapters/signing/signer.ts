import { createPrivateKey, hash, type KeyObject, sign as signEd25519 } from 'node:crypto';
import { encodeBase58 } from '../../domain/receipt/base58.ts';
import { orderedJson, sortedJson } from '../../domain/receipt/canonical.ts';
import { RECEIPT_BYTES_MAX } from '../../domain/receipt/document.ts';
import { ReceiptRefusal } from '../../domain/receipt/refusal.ts';
import type {
  CredentialSigner,
  ReceiptSigner,
  SignedDocument,
  UnsignedCredential,
} from '../../ports/signer.ts';
import { jwkThumbprint, rawPublicKey } from './identifiers.ts';

export interface SignerKey {
  /** PKCS #8, Ed25519. */
  privateKeyPem: string;
  /** The issuer, `did:web:…`; the key's id is this and its thumbprint. */
  did: string;
}

/** Signs credentials with Data Integrity eddsa-jcs-2022 over node:crypto. */
export function createReceiptSigner(key: SignerKey): ReceiptSigner & CredentialSigner {
  const privateKey = createPrivateKey(key.privateKeyPem);
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('A signing key must be Ed25519.');
  const kid = `${key.did}#${jwkThumbprint(rawPublicKey(privateKey))}`;
  const proofs = proofWriter(privateKey, kid);
  return {
    kid,
    sign(document) {
      if (document.proof !== undefined) throw new Error('The receipt is signed already.');
      const signed = secure(document, orderedJson(document), proofs);
      if (signed.bytes.length > RECEIPT_BYTES_MAX) {
        throw new ReceiptRefusal('too_large', '', `is larger than ${RECEIPT_BYTES_MAX} bytes`);
      }
      return signed;
    },
    signCredential(document) {
      const text = sortedJson(document);
      return secure(JSON.parse(text) as Ordered, text, proofs);
    },
  };
}

/** A document whose fields stand in canonical order. */
type Ordered = Pick<UnsignedCredential, '@context' | 'validFrom'>;

/**
 * Inserts the proof at its sorted place. `text` is the canonical form of `document`, so what follows the proof is
 * the canonical form of the fields whose names follow `proof`: a short text, written a second time to find the place.
 */
function secure(document: Ordered, text: string, proofs: ProofWriter): SignedDocument {
  const after: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(document)) if (field > 'proof') after[field] = value;
  // Its opening brace stands for the comma before the first of those fields.
  const at = text.length - JSON.stringify(after).length;
  const proof = proofs(document['@context'], document.validFrom, text);
  return finish(`${text.slice(0, at)},"proof":${proof}${text.slice(at)}`);
}

/** One allocation holds the leaf's prefix and the bytes, so that hashing the leaf copies nothing. */
function finish(text: string): SignedDocument {
  const leaf = Buffer.allocUnsafeSlow(1 + Buffer.byteLength(text));
  leaf[0] = 0;
  leaf.write(text, 1);
  return { text, bytes: leaf.subarray(1), leafHash: hash('sha256', leaf, 'buffer') };
}

/** The proof of a canonical document, as canonical JSON. */
type ProofWriter = (contexts: readonly string[], created: string, canonical: string) => string;

/**
 * The configuration of a proof differs only by its time, and receipts of one batch share that too, so its text and
 * hash are kept until either changes.
 */
function proofWriter(privateKey: KeyObject, kid: string): ProofWriter {
  const end = `"type":"DataIntegrityProof","verificationMethod":${JSON.stringify(kid)}}`;
  let lastContexts: readonly string[] = [];
  let lastCreated = '';
  let start = '';
  // Hash of the configuration, then hash of the document: what is signed.
  const data = new Uint8Array(64);
  return (contexts, created, canonical) => {
    if (created !== lastCreated || contexts !== lastContexts) {
      start =
        `{"@context":${JSON.stringify(contexts)},"created":${JSON.stringify(created)},` +
        `"cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",`;
      data.set(hash('sha256', start + end, 'buffer'), 0);
      lastCreated = created;
      lastContexts = contexts;
    }
    data.set(hash('sha256', canonical, 'buffer'), 32);
    const signature = signEd25519(null, data, privateKey);
    return `${start}"proofValue":"z${encodeBase58(signature)}",${end}`;
  };
}
