import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { decodeBase58 } from '#shared/kernel/base58.ts';
import { CLOCK_SKEW_MS, signedData, type TrustedKeys } from '#shared/receipts/verify.ts';
import { parseSeal, refuseUnknownFormat, SEAL_BYTES_MAX } from '#shared/packs/seal.ts';
import type { SignedSeal } from '#shared/packs/seal-format.ts';
import {
  archiveOrder,
  BAG_DECLARATION,
  BAG_INFO,
  isPlaceOfPack,
  MANIFEST,
  RECEIPTS,
  REVISION_PROOFS,
  REVISIONS,
  SEAL,
  SHAPES,
  SUPERSEDED,
  TAG_FILES,
  TAG_MANIFEST,
} from '#shared/packs/layout.ts';
import {
  BAG_DECLARATION_TEXT,
  bagDescription,
  bagInfo,
  parseManifest,
} from '#shared/packs/manifest.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { textOf } from './lines.ts';
import { checkDigest, type PackFile } from './pack-file.ts';

/** A bag whose list of files is what the seal says. Payload files are compared with their digests when they are read. */
export interface Bag {
  pack: PackFile;
  seal: SignedSeal;
  /** Hex SHA-256 by path, of the payload. */
  manifest: ReadonlyMap<string, string>;
  /** A payload file, compared with the manifest. @throws PackProblem */
  read(path: string): Uint8Array;
}

/**
 * Reads manifests and seal, and checks that they and the archive name the same files. The seal's signature is the next
 * step: whose keys are trusted may depend on what the pack holds.
 * @throws PackProblem
 */
export function openBag(pack: PackFile): Bag {
  // What else there is, and in which order, is the format's to say.
  if ((pack.files.get(SEAL)?.size ?? Infinity) <= SEAL_BYTES_MAX) {
    refuseUnknownFormat(new TextDecoder().decode(pack.read(SEAL)), SEAL);
  }
  const manifest = parseManifest(textOf(pack.read(MANIFEST), MANIFEST), MANIFEST);
  const tags = parseManifest(textOf(pack.read(TAG_MANIFEST), TAG_MANIFEST), TAG_MANIFEST);
  const wanted = [...TAG_FILES, SEAL];
  if ([...tags.keys()].join() !== wanted.join()) {
    throw new PackProblem(
      'malformed_manifest',
      TAG_MANIFEST,
      'It does not list the bag’s own files.',
    );
  }
  compareNames(pack, manifest, wanted);
  for (const path of wanted) checkDigest(pack.read(path), tags.get(path)!, path);
  const bytes = pack.read(SEAL);
  if (bytes.length > SEAL_BYTES_MAX) {
    throw new PackProblem('malformed_seal', SEAL, 'The seal is larger than any.');
  }
  const seal = parseSeal(textOf(bytes, SEAL), SEAL);
  checkSealedFiles(pack, seal);
  checkTagFiles(pack, manifest, seal);
  if (!manifest.has(SHAPES)) {
    throw new PackProblem('missing_file', SHAPES, 'A file is missing that every pack has.');
  }
  const read = (path: string): Uint8Array => {
    const digest = manifest.get(path);
    const content = pack.read(path);
    if (digest === undefined)
      throw new PackProblem('extra_file', path, 'It is not in the manifest.');
    checkDigest(content, digest, path);
    return content;
  };
  return { pack, seal, manifest, read };
}

function compareNames(
  { files }: PackFile,
  manifest: ReadonlyMap<string, string>,
  tags: readonly string[],
): void {
  const missing = [...tags, TAG_MANIFEST].find((path) => !files.has(path));
  if (missing !== undefined) {
    throw new PackProblem('missing_file', missing, 'A file is missing that every pack has.');
  }
  for (const path of manifest.keys()) {
    if (!files.has(path)) {
      throw new PackProblem('missing_file', path, 'The manifest names a file that is not there.');
    }
    if (!isPlaceOfPack(path) || !hasItsShard(manifest, path)) {
      throw new PackProblem('extra_file', path, 'A pack has no such file.');
    }
  }
  const own = new Set([...tags, TAG_MANIFEST]);
  for (const path of files.keys()) {
    if (!manifest.has(path) && !own.has(path)) {
      throw new PackProblem('extra_file', path, 'There is a file that no manifest names.');
    }
  }
  const order = archiveOrder(manifest.keys());
  const odd = [...files.keys()].find((path, i) => path !== order[i]);
  if (odd !== undefined) {
    const message = 'The files of the archive stand in another order than its manifests say.';
    throw new PackProblem('malformed_zip', odd, message);
  }
}

/** What is said of the lines of a shard goes with a shard of that name. */
function hasItsShard(manifest: ReadonlyMap<string, string>, path: string): boolean {
  const slash = path.lastIndexOf('/');
  const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)];
  if (folder !== SUPERSEDED && folder !== REVISION_PROOFS) return true;
  const beside = folder === SUPERSEDED ? [RECEIPTS, REVISIONS] : [REVISIONS];
  return beside.some((each) => manifest.has(`${each}/${name}`));
}

/** The seal names the bag's own files by digest, the manifest among them, and so everything. */
function checkSealedFiles(pack: PackFile, { credentialSubject }: SignedSeal): void {
  for (const { name, digest } of credentialSubject.file) {
    if (digest !== multihashOfContent(pack.read(name))) {
      throw new PackProblem('checksum_mismatch', name, 'A file is not what the seal says.');
    }
  }
  const name = credentialSubject.id.slice(credentialSubject.id.lastIndexOf('/') + 1);
  if (name !== pack.folder) {
    throw new PackProblem('seal_contradiction', SEAL, 'The folder is not named as the seal says.');
  }
}

/** Both follow from seal and payload to the last character. */
function checkTagFiles(
  pack: PackFile,
  manifest: ReadonlyMap<string, string>,
  { issuer, validFrom, credentialSubject: { id, range, checkpoint } }: SignedSeal,
): void {
  let payloadBytes = 0;
  for (const path of manifest.keys()) payloadBytes += pack.files.get(path)!.size;
  const info = bagInfo({
    issuer,
    identifier: id,
    description: bagDescription({ ...range, checkpointSize: checkpoint.size }, checkpoint.log),
    date: validFrom.slice(0, 10),
    payloadBytes,
    payloadFiles: manifest.size,
  });
  for (const [path, text] of [
    [BAG_DECLARATION, BAG_DECLARATION_TEXT],
    [BAG_INFO, info],
  ] as const) {
    if (textOf(pack.read(path), path) !== text) {
      const message = 'It is not what follows from seal and payload.';
      throw new PackProblem('checksum_mismatch', path, message);
    }
  }
}

/** @throws PackProblem unless the issuer named sealed the pack, by a key that may, and not in the future */
export function checkSeal(seal: SignedSeal, keys: TrustedKeys, now: number): void {
  const { proof, issuer } = seal;
  const kid = proof.verificationMethod;
  const fail = (code: PackProblem['code'], message: string): never => {
    throw new PackProblem(code, SEAL, message);
  };
  const key = keys.get(kid);
  if (key === undefined || key.controller !== issuer || !kid.startsWith(`${issuer}#`)) {
    return fail('unknown_key', `The key ${kid} that sealed the pack is not trusted.`);
  }
  const signature = decodeBase58(proof.proofValue.slice(1));
  const contexts = seal['@context'];
  const agree = proof['@context'].every((url, i) => url === contexts[i]);
  if (!agree || proof.created !== seal.validFrom || signature?.length !== 64) {
    return fail('seal_invalid', 'The proof of the seal is not one of this seal.');
  }
  if (!key.verify(signedData(seal, proof), signature)) {
    return fail('seal_invalid', 'The seal was changed, or another key made it.');
  }
  if (Date.parse(seal.validFrom) > now + CLOCK_SKEW_MS) {
    fail('seal_invalid', `The seal is of ${seal.validFrom}, which has not come yet.`);
  }
  if (key.revoked) fail('key_revoked', 'The key that sealed the pack was revoked.');
  if (!key.mayAssert) fail('key_not_authorised', 'The key that sealed the pack may not do so.');
}
