import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { decodeBase58 } from '#shared/kernel/base58.ts';
import { signedData, type TrustedKeys } from '#shared/receipts/verify.ts';
import { parseSeal, SEAL_BYTES_MAX } from '#shared/packs/seal.ts';
import type { SignedSeal } from '#shared/packs/seal-format.ts';
import {
  BAG_INFO,
  MANIFEST,
  packFolders,
  SEAL,
  TAG_FILES,
  TAG_MANIFEST,
} from '#shared/packs/layout.ts';
import { parseManifest } from '#shared/packs/manifest.ts';
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
  const manifest = parseManifest(textOf(pack.read(MANIFEST), MANIFEST), MANIFEST);
  const tags = parseManifest(textOf(pack.read(TAG_MANIFEST), TAG_MANIFEST), TAG_MANIFEST);
  const wanted = [...TAG_FILES, SEAL];
  if (tags.size !== wanted.length || !wanted.every((path) => tags.has(path))) {
    throw new PackProblem(
      'malformed_manifest',
      TAG_MANIFEST,
      'It does not list the bag’s own files.',
    );
  }
  for (const path of wanted) checkDigest(pack.read(path), tags.get(path)!, path);
  compareNames(pack, manifest, wanted);
  const bytes = pack.read(SEAL);
  if (bytes.length > SEAL_BYTES_MAX) {
    throw new PackProblem('malformed_seal', SEAL, 'The seal is larger than any.');
  }
  const seal = parseSeal(textOf(bytes, SEAL), SEAL);
  checkSealedFiles(pack, seal);
  checkOxum(pack, manifest);
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
  for (const path of manifest.keys()) {
    if (!files.has(path)) {
      throw new PackProblem('missing_file', path, 'The manifest names a file that is not there.');
    }
    if (!packFolders.some((folder) => path.startsWith(`${folder}/`))) {
      throw new PackProblem('extra_file', path, 'A pack has no such file.');
    }
  }
  const own = new Set([...tags, TAG_MANIFEST]);
  for (const path of files.keys()) {
    if (!manifest.has(path) && !own.has(path)) {
      throw new PackProblem('extra_file', path, 'There is a file that no manifest names.');
    }
  }
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

/** Payload-Oxum: how many bytes in how many files (RFC 8493, 2.2.2). */
function checkOxum(pack: PackFile, manifest: ReadonlyMap<string, string>): void {
  let bytes = 0;
  for (const path of manifest.keys()) bytes += pack.files.get(path)!.size;
  const text = textOf(pack.read(BAG_INFO), BAG_INFO);
  if (!text.split('\n').includes(`Payload-Oxum: ${bytes}.${manifest.size}`)) {
    throw new PackProblem('checksum_mismatch', BAG_INFO, 'The payload has another size.');
  }
}

/** @throws PackProblem unless the issuer named sealed the pack, by a key that may */
export function checkSeal(seal: SignedSeal, keys: TrustedKeys): void {
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
  if (key.revoked) fail('key_revoked', 'The key that sealed the pack was revoked.');
  if (!key.mayAssert) fail('key_not_authorised', 'The key that sealed the pack may not do so.');
}
