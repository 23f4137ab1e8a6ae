import { readDevFile } from '#embedded/launcher/dev-file.ts';
import type { Catalogue } from '#shared/catalogue/catalogue.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { openProviders } from '#workers/inference/providers/providers.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { type Probe, probeUpstreams } from './probe.ts';

/** A model that has to be loaded first takes longer than that with some servers; a person waits. */
const TIMEOUT_S = 30;

export interface ProbeSettings {
  /** Of each call. */
  timeoutS?: number;
  /** Endpoints to ask; all when absent. */
  only?: readonly string[];
}

/** Probes the endpoints of a catalogue with the credentials of this environment, with a progress bar where someone looks. */
export async function probeCatalogue(
  catalogue: Catalogue,
  { timeoutS = TIMEOUT_S, only }: ProbeSettings = {},
): Promise<Probe[]> {
  const credential = loadToolConfig().upstreamCredential;
  const providers = openProviders(credential);
  const bar = createProgressBar('asking upstreams');
  try {
    return await probeUpstreams({
      catalogue:
        only === undefined
          ? catalogue
          : {
              ...catalogue,
              endpoints: catalogue.endpoints.filter(({ name }) => only.includes(name)),
            },
      providerOf: providers.of,
      credential,
      timeoutMs: timeoutS * 1_000,
      onProgress: (done, total) => bar.show(done, total),
    });
  } finally {
    bar.clear();
    await providers.close();
  }
}

/** Where the sandbox of the instance is that runs on this data directory; undefined when none runs. */
export async function sandboxUrl(): Promise<string | undefined> {
  const instance = await readDevFile(loadToolConfig().dataDir);
  return instance === undefined ? undefined : `${instance.sandbox_url}/v1`;
}

/** The problems, or the warnings, of one endpoint, each once: several models meet the same. */
export function linesOf(probes: readonly Probe[], which: 'problems' | 'warnings'): string[] {
  return [...new Set(probes.flatMap((probe) => probe[which]))];
}
