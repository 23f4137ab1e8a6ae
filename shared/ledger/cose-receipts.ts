import { type Cbor, decodeCbor, encodeCbor, MalformedCbor } from '#shared/kernel/cbor.ts';
import type { Checkpoint, CheckpointSigner } from './checkpoints.ts';
import { HASH_BYTES, type Hash, leafHash } from './hashing.ts';
import { MalformedLedgerText } from './notes.ts';
import { inclusionRoot, PROOF_HASHES_MAX } from './proofs.ts';

/** RFC 9942 registers no type of its own: this is COSE's (RFC 9052, 11.1). */
export const COSE_RECEIPT_TYPE = 'application/cose; cose-type="cose-sign1"';

/** A path of 63 hashes of 34 bytes, and names of some hundred characters. */
const COSE_RECEIPT_BYTES_MAX = 8_192;

/** The tag of a COSE_Sign1, which receipts must have (RFC 9942, 4.3). */
const SIGN1_TAG = 18;
/** Labels of headers (RFC 9052, 9597, 9942), and of claims (RFC 8392). */
const [ALG, KID, CLAIMS, VDS, VDP] = [1, 4, 15, 395, 396];
const [ISSUER, SUBJECT] = [1, 2];
/**
 * The size of the tree, under a label for private use (below -65536). RFC 9942 has size and index beside the signature alone,
 * where a path fits several of both: with this, the size is signed, and of a tree of one size each path leads to one index.
 */
const TREE_SIZE = -65_538;
/**
 * EdDSA with the curve that the key says. RFC 9864 prefers -19, which says Ed25519 itself and makes the same signatures;
 * libraries of COSE that were looked at refuse it.
 */
const EDDSA = -8;
/** RFC9162_SHA256, which is the tree of RFC 6962 too. */
const RFC9162_SHA256 = 1;
const INCLUSION_PROOFS = -1;
/** The form of a path has one hash at least (RFC 9942, 5.2), so a tree of one entry has no receipt of inclusion. */
export const COSE_TREE_MIN = 2;
const SIGNATURE_BYTES = 64;

/** Who signs roots for COSE receipts: as did.json and jwks.json name issuer and key. */
export interface CoseIssuer {
  /** `did:web:…` */
  issuer: string;
  kid: string;
}

/** A root as it was signed for COSE receipts, without the root. */
export interface CoseSignature {
  /** The protected header, encoded: signature and verifiers take these very bytes. */
  protectedHeader: Uint8Array;
  signature: Uint8Array;
}

/** A COSE receipt of inclusion in its parts. */
export interface CoseReceipt extends CoseSignature, CoseIssuer {
  /** Origin of the log. */
  log: string;
  size: number;
  index: number;
  hashes: readonly Hash[];
}

/** Signs the root of a checkpoint as the detached payload of COSE receipts. */
export function signCoseRoot(
  { origin, size, root }: Omit<Checkpoint, 'extensions'>,
  { issuer, kid }: CoseIssuer,
  signer: CheckpointSigner,
): CoseSignature {
  const claims = new Map([
    [ISSUER, issuer],
    [SUBJECT, origin],
  ] as const);
  const header = new Map<number, Cbor>([
    [ALG, EDDSA],
    [KID, new TextEncoder().encode(kid)],
    [CLAIMS, claims],
    [VDS, RFC9162_SHA256],
    [TREE_SIZE, size],
  ]);
  const protectedHeader = encodeCbor(header);
  return { protectedHeader, signature: signer.sign(toBeSigned(protectedHeader, root)) };
}

/** The Sig_structure of COSE_Sign1 (RFC 9052, 4.4). It begins with a byte that no text does, so it never passes as a signed note. */
function toBeSigned(protectedHeader: Uint8Array, root: Hash): Uint8Array {
  return encodeCbor(['Signature1', protectedHeader, new Uint8Array(0), root]);
}

/** Writes a COSE receipt of inclusion (RFC 9942, 5.2.1): the signature of a root with the path that leads to it. */
export function formatCoseReceipt({
  protectedHeader,
  signature,
  size,
  index,
  hashes,
}: CoseSignature & Pick<CoseReceipt, 'size' | 'index' | 'hashes'>): Uint8Array {
  const proof = encodeCbor([size, index, hashes]);
  const unprotected = new Map([[VDP, new Map([[INCLUSION_PROOFS, [proof]]])]]);
  return encodeCbor({ tag: SIGN1_TAG, value: [protectedHeader, unprotected, null, signature] });
}

/** Whether bytes begin as a tagged COSE_Sign1 does. */
export function isCoseSign1(bytes: Uint8Array): boolean {
  return bytes[0] === 0xd2 && bytes[1] === 0x84;
}

/**
 * Reads a COSE receipt of inclusion from anyone, strictly: deterministic CBOR, and exactly the headers that are written
 * here, because what is passed over might have been meant. Throws `MalformedLedgerText`; verifies nothing.
 */
export function parseCoseReceipt(bytes: Uint8Array): CoseReceipt {
  if (bytes.length > COSE_RECEIPT_BYTES_MAX) throw malformed('It is longer than any such receipt.');
  const item = itemIn(bytes);
  const isTagged = typeof item === 'object' && item !== null && 'tag' in item;
  if (!isTagged || item.tag !== SIGN1_TAG) throw malformed('It is no tagged COSE_Sign1.');
  const [protectedHeader, unprotected, payload, signature] = arrayOf(item.value, 4);
  if (payload !== null) throw malformed('Its payload, the root, is to be computed and not read.');
  const signed = headerIn(bytesOf(protectedHeader));
  const proofs = mapOf(mapOf(unprotected, [VDP]).get(VDP), [INCLUSION_PROOFS]);
  const [proof] = arrayOf(proofs.get(INCLUSION_PROOFS), 1);
  const path = pathOf(itemIn(bytesOf(proof)));
  if (signed.size !== path.size)
    throw malformed('Its path is of a tree of another size than was signed.');
  return { ...signed, ...path, signature: bytesOf(signature, SIGNATURE_BYTES) };
}

function headerIn(
  protectedHeader: Uint8Array,
): Pick<CoseReceipt, 'protectedHeader' | 'kid' | 'issuer' | 'log' | 'size'> {
  const header = mapOf(itemIn(protectedHeader), [ALG, KID, CLAIMS, VDS, TREE_SIZE]);
  if (header.get(ALG) !== EDDSA) throw malformed('It is not signed by EdDSA.');
  if (header.get(VDS) !== RFC9162_SHA256) throw malformed('Its tree is not RFC9162_SHA256.');
  const size = header.get(TREE_SIZE);
  if (typeof size !== 'number') throw malformed('The size that was signed is no number.');
  const claims = mapOf(header.get(CLAIMS), [ISSUER, SUBJECT]);
  return {
    protectedHeader,
    kid: textOf(bytesOf(header.get(KID))),
    issuer: stringOf(claims.get(ISSUER)),
    log: stringOf(claims.get(SUBJECT)),
    size,
  };
}

function pathOf(item: Cbor): Pick<CoseReceipt, 'size' | 'index' | 'hashes'> {
  const [size, index, path] = arrayOf(item, 3);
  if (typeof size !== 'number' || typeof index !== 'number' || index < 0 || index >= size) {
    throw malformed('Its entry is not in its tree.');
  }
  const hashes = Array.isArray(path) ? (path as readonly Cbor[]) : [];
  if (hashes.length === 0 || hashes.length > PROOF_HASHES_MAX) {
    throw malformed(`Its path is not of 1 to ${PROOF_HASHES_MAX} hashes.`);
  }
  return { size, index, hashes: hashes.map((hash) => bytesOf(hash, HASH_BYTES)) };
}

type VerifySignature = (data: Uint8Array, signature: Uint8Array) => boolean;

/** True when a signature for COSE receipts is of this tree head. Throws `MalformedLedgerText` when its header cannot be read. */
export function signsCoseRoot(
  { protectedHeader, signature }: CoseSignature,
  { origin, size, root }: Omit<Checkpoint, 'extensions'>,
  verify: VerifySignature,
): boolean {
  const signed = headerIn(protectedHeader);
  const isOfHead = signed.log === origin && signed.size === size;
  return isOfHead && verify(toBeSigned(protectedHeader, root), signature);
}

/** True when the path leads from these bytes to a root that was signed by the key: one answer, as RFC 9942 recommends. */
export function coseReceiptHolds(
  { protectedHeader, signature, size, index, hashes }: CoseReceipt,
  entry: Uint8Array,
  verify: VerifySignature,
): boolean {
  const root = inclusionRoot({ size, index, leaf: leafHash(entry), proof: hashes });
  return root !== null && verify(toBeSigned(protectedHeader, root), signature);
}

function itemIn(bytes: Uint8Array): Cbor {
  try {
    return decodeCbor(bytes);
  } catch (error) {
    if (error instanceof MalformedCbor) throw malformed(error.message);
    throw error;
  }
}

function arrayOf(item: Cbor | undefined, length: number): readonly Cbor[] {
  if (Array.isArray(item) && item.length === length) return item as readonly Cbor[];
  throw malformed(`A list of ${length} is missing.`);
}

function mapOf(item: Cbor | undefined, labels: readonly number[]): ReadonlyMap<number, Cbor> {
  const isWhole =
    item instanceof Map && item.size === labels.length && labels.every((label) => item.has(label));
  if (!isWhole) throw malformed(`A header or claim is missing, or there is one too many.`);
  return item as ReadonlyMap<number, Cbor>;
}

function bytesOf(item: Cbor | undefined, length?: number): Uint8Array {
  const isLong = item instanceof Uint8Array && (length === undefined || item.length === length);
  if (!isLong) throw malformed('Bytes are missing, or not as many as they should be.');
  return item;
}

function stringOf(item: Cbor | undefined): string {
  if (typeof item !== 'string') throw malformed('A text is missing.');
  return item;
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed('The name of its key is not UTF-8.');
  }
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('cose_receipt', message);
}
