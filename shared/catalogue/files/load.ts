import { readFileSync, statSync } from 'node:fs';
import type { Catalogue } from '../catalogue.ts';
import { type CatalogueSources, type LoadedCatalogue, parseCatalogue } from '../parse.ts';
import { CatalogueError, type CatalogueProblem } from '../problem.ts';
import { indexCatalogue, type RoutingIndex } from '../route-index.ts';

/** The catalogue that is used when none is named. */
export const DEFAULT_CATALOGUE = new URL('../default.yaml', import.meta.url);

/** Four thousand models with sixteen endpoints each fit; more is a mistake. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

/**
 * Reads and checks a catalogue file.
 * @throws CatalogueError with all problems and their lines; nothing is ever replaced by a default silently.
 */
export function loadCatalogue(file: string | URL, sources: CatalogueSources): LoadedCatalogue {
  const name = file instanceof URL ? (file.pathname.split('/').at(-1) ?? '') : file;
  const refuse = (message: string) => new CatalogueError(name, [{ line: 1, path: '', message }]);
  let bytes: Buffer;
  try {
    if (statSync(file).size > FILE_BYTES_MAX)
      throw refuse(`the file is larger than ${FILE_BYTES_MAX} bytes`);
    bytes = readFileSync(file);
  } catch (error) {
    if (error instanceof CatalogueError) throw error;
    throw refuse(
      `the file cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown reason'}`,
    );
  }
  return parseCatalogue(bytes, name, sources);
}

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
