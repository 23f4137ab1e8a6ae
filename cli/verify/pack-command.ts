import { packScriptDigest } from '#shared/packs/files/verification-files.ts';
import { printJson } from '#cli/print.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { packReport, packWords, sourceOfKeys } from './pack-words.ts';
import { EXIT_CODES } from './verdicts.ts';
import { verifyPack, type VerifyPackOptions } from './verify-pack.ts';

/** How a pack is to be judged, and by whose keys. */
export interface PackOptions extends Omit<VerifyPackOptions, 'now' | 'onProgress'> {
  json?: boolean;
  /** Where `didJson` came from; absent when the keys are the pack's own. */
  source?: string;
}

/** `docket verify <pack.zip>`. The exit code is the verdict's. */
export async function verifyPackFile(path: string, options: PackOptions): Promise<void> {
  const { json, source, ...how } = options;
  const bar = createProgressBar('Verifying');
  const verdict = await verifyPack(path, {
    ...how,
    now: Date.now(),
    onProgress: (done, total) => bar.show(done, total),
  });
  bar.clear();
  const trusted = sourceOfKeys(source, how.pin);
  const script = packScriptDigest();
  if (json === true) printJson(packReport(verdict, trusted));
  else process.stdout.write(packWords(verdict, { trusted, file: path, script }));
  process.exitCode = EXIT_CODES[verdict.verdict];
}
