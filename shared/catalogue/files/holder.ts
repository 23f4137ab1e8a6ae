import type { Catalogue } from '../catalogue.ts';
import { indexCatalogue } from '../route-index.ts';
import type { RoutingIndex } from '../route-index.ts';
import { loadCatalogue } from './load.ts';
import type { CatalogueSources } from './load.ts';
import { CatalogueError } from '../problem.ts';
import type { CatalogueProblem } from '../problem.ts';

/** The catalogue in use and its index, always of the same file version. */
interface CatalogueInUse {
  readonly catalogue: Catalogue;
  readonly index: RoutingIndex;
  readonly warnings: readonly CatalogueProblem[];
}

type Reload =
  | { outcome: 'replaced' | 'unchanged'; inUse: CatalogueInUse }
  /** The file is bad; the catalogue in use stays. */
  | { outcome: 'kept'; inUse: CatalogueInUse; error: CatalogueError };

export interface CatalogueHolder {
  /** The catalogue of this moment. Take it once per request, so that one request sees one catalogue. */
  current(): CatalogueInUse;
  /** Reads the file again. Never throws for a bad file: it keeps the old catalogue and says so. */
  reload(): Reload;
}

/**
 * Loads the catalogue, to be reloaded on SIGHUP.
 * @throws CatalogueError when the first load fails: a process does not start on a bad catalogue.
 */
export function createCatalogueHolder(
  file: string | URL,
  sources: CatalogueSources,
): CatalogueHolder {
  const load = (): CatalogueInUse => {
    const loaded = loadCatalogue(file, sources);
    return { ...loaded, index: indexCatalogue(loaded.catalogue) };
  };
  let inUse = load();
  return {
    current: () => inUse,
    reload() {
      try {
        const next = load();
        // The digest is of the file alone; variables may have changed as well, so the new one is always taken.
        const outcome = next.catalogue.digest === inUse.catalogue.digest ? 'unchanged' : 'replaced';
        inUse = next;
        return { outcome, inUse };
      } catch (error) {
        if (error instanceof CatalogueError) return { outcome: 'kept', inUse, error };
        throw error;
      }
    },
  };
}
