import { sha256 as sha256Of } from '#primitives';
import { decodeBase58 } from '#shared/kernel/base58.ts';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { knownContextDigest, VC_CONTEXT_URL } from './context.ts';
import type { ProofDocument, ReceiptDocument } from './document.ts';
import { parseReceipt } from './parse.ts';
import { isPendingReceipt } from './pending.ts';
import { MalformedData, type MalformedCode } from '#shared/kernel/malformed-data.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';

/** Clocks of issuer and verifier may differ by this much before a time counts as lying in the future. */
export const CLOCK_SKEW_MS = 5 * MINUTE_MS;

/** 64 bytes in base58 are at most 88 digits, after the multibase `z`. */
const PROOF_VALUE_MAX = 89;
const SIGNATURE_BYTES = 64;

type VerdictCode =
  | 'good'
  | MalformedCode
  | 'context_mismatch'
  | 'pending'
  /* of a receipt that is signed as it stands, and was never issued so */
  | 'figures_mismatch'
  /* of a receipt beside which lies another derivation record than it names */
  | 'derivation_mismatch'
  /* of a receipt beside which lies what it is not of */
  | 'answer_differs'
  | 'request_differs'
  | 'not_signed'
  | 'wrong_proof_type'
  | 'wrong_cryptosuite'
  | 'wrong_proof_purpose'
  | 'issuer_mismatch'
  | 'unknown_key'
  | 'key_not_authorised'
  | 'key_revoked'
  | 'malformed_signature'
  | 'signature_invalid'
  | 'in_the_future';

/** A public key that the verifier trusts, and what its controller lets it do. */
export interface TrustedKey {
  /** The DID that publishes it. */
  controller: string;
  /** Listed under `assertionMethod`: may sign receipts. */
  mayAssert: boolean;
  /**
   * Its controller no longer answers for it. A thief of a key can also write an old date, so only the ledger, which
   * says when a receipt was there, can save what it signed before.
   */
  revoked: boolean;
  /** 32 bytes, Ed25519. */
  publicKey: Uint8Array;
  verify(data: Uint8Array, signature: Uint8Array): boolean;
}

/** The keys that the verifier trusts, by `kid`. */
export type TrustedKeys = ReadonlyMap<string, TrustedKey>;

export interface ReceiptVerdict {
  good: boolean;
  code: VerdictCode;
  /** One sentence for a person. */
  message: string;
  /** The key that the proof names; also when it does not hold. */
  kid?: string;
  /** The receipt as far as it could be read. */
  document?: ReceiptDocument;
  /** The canonical bytes, which are the leaf of the ledger. */
  canonical?: string;
}

/**
 * Is this receipt what its issuer signed? Checks its form, its contexts, its proof (eddsa-jcs-2022) against keys the
 * verifier trusts, and its times. It does not check that the ledger includes it: keys retired or compromised at some
 * index are the ledger's business.
 * @param now epoch milliseconds
 */
export function verifyReceipt(
  source: Uint8Array | string,
  keys: TrustedKeys,
  now: number,
): ReceiptVerdict {
  const seen: Pick<ReceiptVerdict, 'kid' | 'document' | 'canonical'> = {};
  try {
    const { document, canonical } = parseReceipt(source);
    Object.assign(seen, { document, canonical });
    if (document.proof !== undefined) seen.kid = document.proof.verificationMethod;
    checkContexts(document);
    const proof = checkProof(document);
    checkSignature(document, proof, keys);
    checkTime(document, now);
    return { good: true, code: 'good', message: 'The receipt is what its issuer signed.', ...seen };
  } catch (error) {
    if (isAnnouncement(source)) return PENDING;
    if (error instanceof Unverified || error instanceof MalformedData) {
      return { good: false, code: error.code, message: error.message, ...seen };
    }
    throw error;
  }
}

const PENDING: ReceiptVerdict = {
  good: false,
  code: 'pending',
  message:
    'This announces a receipt that was not ready with its answer. Fetch the signed one under the same id, and verify that.',
};

function isAnnouncement(source: Uint8Array | string): boolean {
  return isPendingReceipt(typeof source === 'string' ? source : new TextDecoder().decode(source));
}

class Unverified extends Error {
  readonly code: VerdictCode;
  constructor(code: VerdictCode, message: string) {
    super(message);
    this.code = code;
  }
}

function checkContexts(document: ReceiptDocument): void {
  const [first, second, ...rest] = document['@context'];
  if (first !== VC_CONTEXT_URL || second === undefined || rest.length > 0) {
    throw new Unverified('unknown_context', 'The contexts are not those of a receipt.');
  }
  if (second === VC_CONTEXT_URL || knownContextDigest(second) === undefined) {
    throw new Unverified('unknown_context', `No receipt was issued with the context ${second}.`);
  }
}

function checkProof(document: ReceiptDocument): ProofDocument {
  const { proof } = document;
  if (proof === undefined) {
    throw new Unverified(
      'not_signed',
      'The receipt is not signed, so it proves nothing. A signed one may exist under the same id.',
    );
  }
  if (proof.type !== 'DataIntegrityProof') {
    throw new Unverified('wrong_proof_type', 'The proof is not a DataIntegrityProof.');
  }
  if (proof.cryptosuite !== 'eddsa-jcs-2022') {
    throw new Unverified(
      'wrong_cryptosuite',
      'The proof is not of the cryptosuite eddsa-jcs-2022.',
    );
  }
  if (proof.proofPurpose !== 'assertionMethod') {
    throw new Unverified('wrong_proof_purpose', 'The proof was not made to assert something.');
  }
  const contexts = document['@context'];
  const agree =
    proof['@context'].length === contexts.length &&
    contexts.every((url, i) => proof['@context'][i] === url);
  if (!agree) {
    throw new Unverified(
      'context_mismatch',
      'The proof is over other contexts than the receipt has.',
    );
  }
  return proof;
}

function checkSignature(document: ReceiptDocument, proof: ProofDocument, keys: TrustedKeys): void {
  const kid = proof.verificationMethod;
  if (!kid.startsWith(`${document.issuer}#`)) {
    throw new Unverified('issuer_mismatch', 'The key that signed is not one of the issuer named.');
  }
  const key = keys.get(kid);
  if (key === undefined || key.controller !== document.issuer) {
    throw new Unverified('unknown_key', `The key ${kid} is not among the trusted keys.`);
  }
  const signature = signatureOf(proof.proofValue);
  if (!key.verify(signedData(document, proof), signature)) {
    throw new Unverified(
      'signature_invalid',
      'The signature does not fit: the receipt was changed, or another key signed it.',
    );
  }
  if (key.revoked) {
    throw new Unverified(
      'key_revoked',
      'The key that signed was revoked. Only a proof from the ledger can show that the receipt is older than that.',
    );
  }
  if (!key.mayAssert) {
    throw new Unverified(
      'key_not_authorised',
      'The key belongs to the issuer, but may not sign receipts.',
    );
  }
}

function signatureOf(proofValue: string): Uint8Array {
  const plausible = proofValue.startsWith('z') && proofValue.length <= PROOF_VALUE_MAX;
  const signature = plausible ? decodeBase58(proofValue.slice(1)) : null;
  if (signature?.length !== SIGNATURE_BYTES) {
    throw new Unverified(
      'malformed_signature',
      'The proof value is not a base58btc Ed25519 signature.',
    );
  }
  return signature;
}

/**
 * What eddsa-jcs-2022 signs (Data Integrity EdDSA 1.0, 3.3): SHA-256 of the canonical proof configuration, then SHA-256
 * of the canonical document without its proof.
 */
export function signedData(
  document: { readonly proof?: unknown },
  proof: { readonly proofValue?: unknown },
): Uint8Array {
  const { proof: _proof, ...unsecured } = document;
  const { proofValue: _proofValue, ...configuration } = proof;
  const data = new Uint8Array(64);
  data.set(sha256(configuration), 0);
  data.set(sha256(unsecured), 32);
  return data;
}

function sha256(value: object): Uint8Array {
  return sha256Of(canonicalJson(value));
}

function checkTime({ validFrom }: ReceiptDocument, now: number): void {
  if (!(Date.parse(validFrom) <= now + CLOCK_SKEW_MS)) {
    throw new Unverified('in_the_future', `validFrom is ${validFrom}, which has not come yet.`);
  }
}
