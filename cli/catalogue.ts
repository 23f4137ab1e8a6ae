import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import type { LoadedCatalogue } from '#shared/catalogue/parse.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { catalogueSources } from '#shared/process/open-catalogue.ts';

/** The launcher gives the shipped catalogue the sandbox's address; outside of it any address will do for a look. */
export const NO_SANDBOX = 'http://127.0.0.1:9/v1';

/**
 * The catalogue that a command is about: the file named, that of CATALOGUE, or the one that is shipped.
 * @param sandboxUrl where the sandbox of a running instance is, for catalogues that name it
 * @throws CatalogueError
 */
export function readCatalogue(
  file?: string,
  sandboxUrl?: string,
): LoadedCatalogue & { file: string } {
  const config = loadToolConfig();
  const named = file ?? config.cataloguePath;
  const loaded = loadCatalogue(named ?? DEFAULT_CATALOGUE, {
    ...catalogueSources(config),
    variable: (name) =>
      config.upstreamCredential(name) ??
      (name === 'SANDBOX_URL'
        ? (sandboxUrl ?? (named === undefined ? NO_SANDBOX : undefined))
        : undefined),
  });
  return { ...loaded, file: named ?? 'default.yaml' };
}
