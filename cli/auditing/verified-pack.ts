import type { Command } from 'commander';
import { packScriptDigest } from '#shared/packs/files/verification-files.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import { digestOfFile } from '#cli/file-digest.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { openArchive } from '#cli/verify/archive-file.ts';
import { openPack, type PackFile } from '#cli/verify/pack-file.ts';
import { packSaid, sourceOfKeys } from '#cli/verify/pack-words.ts';
import { written } from '#cli/verify/said.ts';
import { DID_BYTES_MAX, readText } from '#cli/verify/text-file.ts';
import { EXIT_CODES, WORDS } from '#cli/verify/verdicts.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';

/** Whose keys packs are judged by, as `docket verify` has it. */
export interface TrustOptions {
  trust?: string;
  pin?: string;
}

/** A pack that was verified whole, open to be read. */
export interface VerifiedPack {
  path: string;
  pack: PackFile;
  seal: SealDocument;
  /** SHA-256 of the archive, hex. */
  sha256: string;
  /** The verdict's words, and where the keys came from. */
  verdict: string;
  trusted: string;
  /** 0 when the issuer is known, 3 when not. */
  exitCode: number;
}

/** What is drawn or added up is worth what its pack is worth, so that both commands take the same options. */
export function withTrustOptions(command: Command): Command {
  return command
    .option('--trust <did.json>', 'the issuer’s did.json, fetched by you from its host')
    .option('--pin <sha256>', 'SHA-256 of the did.json in the pack, as the issuer told you');
}

/**
 * Verifies a pack and hands it on. One that is bad, or cannot be judged, has its verdict printed and ends the command with
 * the exit code of `docket verify`.
 * @returns undefined then
 */
export async function withVerifiedPack<T>(
  path: string,
  { trust, pin }: TrustOptions,
  use: (pack: VerifiedPack) => T | Promise<T>,
): Promise<T | undefined> {
  const didJson = trust === undefined ? undefined : await readText(trust, DID_BYTES_MAX);
  const bar = createProgressBar('Verifying');
  const found = await verifyPack(path, {
    ...(didJson === undefined ? {} : { didJson }),
    ...(pin === undefined ? {} : { pin }),
    now: Date.now(),
    onProgress: (done, total) => bar.show(done, total),
  });
  bar.clear();
  const { verdict, seal } = found;
  const trusted = sourceOfKeys(trust, pin);
  if ((verdict !== 'good' && verdict !== 'intact') || seal === undefined) {
    const said = packSaid(found, { trusted, file: path, script: packScriptDigest() });
    process.stderr.write(written(said));
    process.exitCode = EXIT_CODES[verdict];
    return undefined;
  }
  const archive = openArchive(path);
  try {
    return await use({
      path,
      pack: openPack(archive),
      seal,
      sha256: await digestOfFile(path),
      verdict: WORDS[verdict],
      trusted,
      exitCode: EXIT_CODES[verdict],
    });
  } finally {
    archive.close();
  }
}
