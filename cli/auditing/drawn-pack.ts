import { encodeBytes, startSha256 } from '#primitives';
import { SEAL } from '#shared/packs/layout.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import { textOf } from '#cli/verify/lines.ts';
import { openPack, type PackBytes } from '#cli/verify/pack-file.ts';
import { drawSample, type Sample, SEED, SEED_FROM, SEED_WORDS } from './draw.ts';
import { tableRows } from './pack-tables.ts';
import { receiptsOf } from './sampled.ts';
import { type SampledReceipt, workpaperPage, workpaperTable } from './workpaper.ts';

/** A sample as a page shows it, and as files that say what those of `docket sample` say. */
export interface DrawnPack {
  seed: string;
  kinds: Sample['strata'];
  rows: readonly SampledReceipt[];
  /** `workpaper.csv` */
  table: string;
  /** `workpaper.html` */
  page: string;
}

/**
 * Draws a sample of a pack that was verified.
 * @param seed empty for the root of the pack's head
 * @param said what the pack is called, and what was found of it
 * @throws Error that says what another sample takes
 */
export function drawPack(
  archive: PackBytes,
  { seed: given, size }: { seed: string; size: number },
  said: { path: string; verdict: string; trusted: string },
): DrawnPack {
  if (given !== '' && !SEED.test(given)) throw new Error(`The seed is not one. ${SEED_WORDS}`);
  const pack = openPack(archive);
  const seal = JSON.parse(textOf(pack.read(SEAL), SEAL)) as SealDocument;
  const seed = given === '' ? seal.credentialSubject.checkpoint.root : given;
  const sample = drawSample(() => tableRows(pack), { seed, size });
  if (sample.rows.length === 0) throw new Error('There is no receipt in the pack that counts.');
  const rows = receiptsOf(pack, sample, () => undefined);
  const verified = { ...said, seal, sha256: digestOf(archive) };
  const seedFrom = given === '' ? SEED_FROM.root : SEED_FROM.given;
  return {
    seed,
    kinds: sample.strata,
    rows,
    table: workpaperTable(sample, rows, verified),
    page: workpaperPage(sample, rows, { pack: verified, seedFrom, hasFiles: false }),
  };
}

/** Read at once. */
const PIECE_BYTES = 1_048_576;

function digestOf(archive: PackBytes): string {
  const running = startSha256();
  for (let at = 0; at < archive.size;) {
    const piece = new Uint8Array(Math.min(PIECE_BYTES, archive.size - at));
    const read = archive.read(at, piece);
    if (read === 0) throw new Error('The file cannot be read to its end.');
    running.update(piece.subarray(0, read));
    at += read;
  }
  return encodeBytes(running.digestWith(new Uint8Array(0)), 'hex');
}
