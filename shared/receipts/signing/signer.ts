import { createPrivateKey, hash, type KeyObject, sign as signByOpenSsl } from 'node:crypto';
import { libsodium } from '#shared/kernel/primitives/libsodium.ts';
import { encodeBase58 } from '#shared/kernel/base58.ts';
import { orderedJson, canonicalJson } from '#shared/kernel/canonical-json.ts';
import { RECEIPT_BYTES_MAX, type ReceiptDocument } from '../document.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { jwkThumbprint } from './identifiers.ts';
import { rawPublicKey } from './key-objects.ts';

/** A credential without its proof. Only what JSON can say, and what receipts may be made of (docs/spec/README.md). */
export interface UnsignedCredential {
  readonly '@context': readonly string[];
  readonly issuer: string;
  /** Also the time of the proof. */
  readonly validFrom: string;
  readonly [field: string]: unknown;
}

/** Signs with one key. Synchronous: one signature costs less than handing it to another thread. */
export interface ReceiptSigner {
  readonly kid: string;
  /**
   * Signs what `buildReceipt` made. Its fields must stand in canonical order, as they do there.
   * @returns the canonical JSON (RFC 8785), proof included: the one form that is stored, sent, logged and packed
   * @throws MalformedData `lone_surrogate`, `too_large`
   */
  sign(document: ReceiptDocument): string;
}

/** Signs other credentials, such as the seal of an evidence pack. */
export interface CredentialSigner {
  readonly kid: string;
  /**
   * Puts the fields in order first.
   * @returns the canonical JSON, proof included
   * @throws MalformedData `lone_surrogate`
   */
  signCredential(document: UnsignedCredential): string;
}

export interface SignerKey {
  /** PKCS #8, Ed25519. */
  privateKeyPem: string;
  /** The issuer, `did:web:…`; the key's id is this and its thumbprint. */
  did: string;
}

/** A key of which only the public half is here (32 bytes), and what signs with it. */
export interface HeldKey extends Pick<SignerKey, 'did'> {
  publicKey: Uint8Array;
  sign: Sign;
}

/** Signs credentials with Data Integrity eddsa-jcs-2022. */
export function createReceiptSigner({
  did,
  privateKeyPem,
}: SignerKey): ReceiptSigner & CredentialSigner {
  const privateKey = createPrivateKey(privateKeyPem);
  if (privateKey.asymmetricKeyType !== 'ed25519') throw new Error('A signing key must be Ed25519.');
  return signerWith({ did, publicKey: rawPublicKey(privateKey), sign: ed25519Signer(privateKey) });
}

/** The same with a key that is not here. */
export function signerWith({ did, publicKey, sign }: HeldKey): ReceiptSigner & CredentialSigner {
  const kid = `${did}#${jwkThumbprint(publicKey)}`;
  const proofs = proofWriter(sign, kid, true);
  // A receipt says when it was signed as `validFrom`; so its proof's configuration is one for all.
  const receiptProofs = proofWriter(sign, kid, false);
  return {
    kid,
    sign(document) {
      if (document.proof !== undefined) throw new Error('The receipt is signed already.');
      const signed = secure(document, orderedJson(document), receiptProofs);
      if (Buffer.byteLength(signed) > RECEIPT_BYTES_MAX) {
        throw new MalformedData('too_large', '', `is larger than ${RECEIPT_BYTES_MAX} bytes`);
      }
      return signed;
    },
    signCredential(document) {
      const text = canonicalJson(document);
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
function secure(document: Ordered, text: string, proofs: ProofWriter): string {
  const after: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(document)) if (field > 'proof') after[field] = value;
  // Its opening brace stands for the comma before the first of those fields.
  const at = text.length - JSON.stringify(after).length;
  const proof = proofs(document['@context'], document.validFrom, text);
  return `${text.slice(0, at)},"proof":${proof}${text.slice(at)}`;
}

/** The proof of a canonical document, as canonical JSON. */
type ProofWriter = (contexts: readonly string[], created: string, canonical: string) => string;

/**
 * The configuration of a proof differs at most by its time, so its text and hash are kept until that, or the contexts,
 * change.
 */
function proofWriter(sign: Sign, kid: string, dated: boolean): ProofWriter {
  const end = `"type":"DataIntegrityProof","verificationMethod":${JSON.stringify(kid)}}`;
  let lastContexts: readonly string[] = [];
  let lastCreated = '';
  let start = '';
  // Hash of the configuration, then hash of the document: what is signed. Hashes come as strings of bytes, because a
  // buffer of its own for each would be most of this function's garbage.
  const data = Buffer.alloc(64);
  return (contexts, created, canonical) => {
    if (contexts !== lastContexts || (dated && created !== lastCreated)) {
      const time = dated ? `"created":${JSON.stringify(created)},` : '';
      start =
        `{"@context":${JSON.stringify(contexts)},${time}` +
        `"cryptosuite":"eddsa-jcs-2022","proofPurpose":"assertionMethod",`;
      data.write(hash('sha256', start + end, 'latin1'), 0, 'latin1');
      lastCreated = created;
      lastContexts = contexts;
    }
    data.write(hash('sha256', canonical, 'latin1'), 32, 'latin1');
    return `${start}"proofValue":"z${encodeBase58(sign(data))}",${end}`;
  };
}

/** Signs bytes; what it returns holds until the next call. */
export type Sign = (data: Uint8Array) => Uint8Array;

/**
 * A signature of Ed25519 follows from key and data (RFC 8032), so it is the same by libsodium, which takes half of the
 * time, as by OpenSSL.
 */
export function ed25519Signer(privateKey: KeyObject, sodium: typeof libsodium = libsodium): Sign {
  if (sodium === null) return (data) => signByOpenSsl(null, data, privateKey);
  const [publicKey, secretKey, seed] = [Buffer.alloc(32), Buffer.alloc(64), Buffer.alloc(32)];
  seed.write(privateKey.export({ format: 'jwk' }).d!, 'base64url');
  sodium.crypto_sign_seed_keypair(publicKey, secretKey, seed);
  seed.fill(0);
  const signature = Buffer.alloc(64);
  return (data) => {
    sodium.crypto_sign_detached(signature, data, secretKey);
    return signature;
  };
}
