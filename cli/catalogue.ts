import { NATIVE_PROVIDERS } from '#shared/catalogue/http/native-providers.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';
import {
  DEFAULT_CATALOGUE,
  loadCatalogue,
  type LoadedCatalogue,
} from '#shared/catalogue/files/load.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { FROZEN_FACTOR_SETS } from '#shared/methodology/frozen.ts';
import { loadFactorSet } from '#shared/methodology/files/load.ts';

/** The launcher gives the shipped catalogue the sandbox's address; outside of it any address will do for a look. */
const NO_SANDBOX = 'http://127.0.0.1:9/v1';

/**
 * The catalogue that a command is about: the file named, that of CATALOGUE, or the one that is shipped.
 * @throws CatalogueError
 */
export function readCatalogue(file?: string): LoadedCatalogue & { file: string } {
  const config = loadToolConfig();
  const named = file ?? config.cataloguePath;
  const newest = FROZEN_FACTOR_SETS.at(-1)!;
  const variable = (name: string): string | undefined =>
    config.upstreamCredential(name) ??
    (named === undefined && name === 'SANDBOX_URL' ? NO_SANDBOX : undefined);
  const known = {
    ...referencesIn(loadFactorSet(newest.version)),
    providers: new Set(Object.keys(NATIVE_PROVIDERS)),
  };
  const loaded = loadCatalogue(named ?? DEFAULT_CATALOGUE, { variable, known });
  return { ...loaded, file: named ?? 'default.yaml' };
}
