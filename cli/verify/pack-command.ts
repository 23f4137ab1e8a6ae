import { packScriptDigest } from '#shared/packs/files/verification-files.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { packReport, packSaid, sourceOfKeys } from './pack-words.ts';
import { type Judgement, judgementOf } from './judgement.ts';
import { verifyPack, type VerifyPackOptions } from './verify-pack.ts';

/** How a pack is to be judged, and by whose keys. */
export interface PackOptions extends Omit<VerifyPackOptions, 'now' | 'onProgress'> {
  /** Where `didJson` came from; absent when the keys are the pack's own. */
  source?: string;
}

/** Judges a pack for `docket verify <pack.zip>`, with a bar that shows how far it is. */
export async function judgePackFile(path: string, options: PackOptions): Promise<Judgement> {
  const { source, ...how } = options;
  const bar = createProgressBar('Verifying');
  const verdict = await verifyPack(path, {
    ...how,
    now: Date.now(),
    onProgress: (done, total) => bar.show(done, total),
  });
  bar.clear();
  const trusted = sourceOfKeys(source, how.pin);
  const script = packScriptDigest();
  return judgementOf(
    packSaid(verdict, { trusted, file: path, script }),
    packReport(verdict, trusted),
  );
}
