import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import type { ToolConfig } from '#shared/config/config.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { writePrivateFile } from '#embedded/stores/private-file.ts';
import { catalogueText } from './catalogue-text.ts';
import { providersIn } from './in-environment.ts';
import { askProviders } from './offer.ts';

/** A provider whose models a start offers. */
export interface ProviderInUse {
  title: string;
  /** Of its endpoint. */
  baseUrl: string;
  /** The variable with the credential. */
  keyVariable: string | undefined;
  models: number;
}

export interface StartCatalogue {
  /** Undefined when the catalogue is that of CATALOGUE, or the shipped one as it is. */
  path: string | undefined;
  providers: readonly ProviderInUse[];
}

/** A start waits no longer for providers: without them there is still the sandbox. */
const LIST_MS = 5_000;

/**
 * The catalogue of a start: to the shipped one are added the models of the providers whose keys the environment holds. A
 * catalogue that is named (CATALOGUE) is used as it is, and no upstream is asked.
 */
export async function startCatalogue(
  config: ToolConfig,
  dataDir: string,
  say: (line: string) => void,
): Promise<StartCatalogue> {
  const found = config.cataloguePath === undefined ? providersIn(config.upstreamCredential) : [];
  const wanted = found.filter(({ row }) => config.providers.some((name) => name === row.name));
  if (wanted.length === 0) return { path: undefined, providers: [] };
  say(`asking for models: ${wanted.map(({ row }) => row.title).join(', ')}`);
  const { offers, lines } = await askProviders(wanted, {
    credential: config.upstreamCredential,
    factors: newestFactorSet(),
    timeoutMs: LIST_MS,
  });
  for (const line of lines) say(line);
  if (offers.length === 0) return { path: undefined, providers: [] };
  const path = join(dataDir, 'catalogue.yaml');
  const text = catalogueText(offers, {
    base: readFileSync(DEFAULT_CATALOGUE, 'utf8'),
    // The plan whose demo organisation has a small daily budget while there are providers.
    plans: ['enterprise'],
    title:
      'Written at each start, from the shipped catalogue and what the providers list whose keys are in the environment.',
  });
  await writePrivateFile(path, text);
  const providers = offers.map(({ row: { title }, baseUrl, keyVariable, models }) => ({
    title,
    baseUrl,
    keyVariable,
    models: models.length,
  }));
  return { path, providers };
}
