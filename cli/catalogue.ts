import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import type { LoadedCatalogue } from '#shared/catalogue/parse.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { catalogueSources } from '#shared/process/open-catalogue.ts';

/** The launcher gives the shipped catalogue the sandbox's address; outside of it any address will do for a look. */
const NO_SANDBOX = 'http://127.0.0.1:9/v1';

/**
 * The catalogue that a command is about: the file named, that of CATALOGUE, or the one that is shipped.
 * @throws CatalogueError
 */
export function readCatalogue(file?: string): LoadedCatalogue & { file: string } {
  const config = loadToolConfig();
  const named = file ?? config.cataloguePath;
  const loaded = loadCatalogue(named ?? DEFAULT_CATALOGUE, {
    ...catalogueSources(config),
    variable: (name) =>
      config.upstreamCredential(name) ??
      (named === undefined && name === 'SANDBOX_URL' ? NO_SANDBOX : undefined),
  });
  return { ...loaded, file: named ?? 'default.yaml' };
}
