import type { Logger } from 'pino';
import { type CatalogueHolder, createCatalogueHolder } from '#shared/catalogue/files/holder.ts';
import { NATIVE_PROVIDERS } from '#shared/catalogue/http/native-providers.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';
import { DEFAULT_CATALOGUE } from '#shared/catalogue/files/load.ts';
import type { Config } from '#shared/config/config.ts';
import { FROZEN_FACTOR_SETS } from '#shared/methodology/frozen.ts';
import { loadFactorSet } from '#shared/methodology/files/load.ts';

export interface OpenCatalogue {
  current: CatalogueHolder['current'];
  /** Reads the file again; a bad one is reported and the old one stays. */
  reload: () => void;
}

/** Loads the catalogue of this process, says what is odd about it, and reloads it on demand. */
export function openCatalogue(config: Config, log: Logger): OpenCatalogue {
  const holder = createCatalogueHolder(config.cataloguePath ?? DEFAULT_CATALOGUE, {
    variable: config.upstreamCredential,
    known: {
      ...referencesIn(loadFactorSet(FROZEN_FACTOR_SETS.at(-1)!.version)),
      providers: new Set(Object.keys(NATIVE_PROVIDERS)),
    },
  });
  for (const warning of holder.current().warnings)
    log.warn({ event: 'catalogue_warning', ...warning });
  return {
    current: () => holder.current(),
    reload() {
      const result = holder.reload();
      if (result.outcome === 'kept') {
        log.error({ event: 'catalogue_kept', problems: result.error.problems });
      } else {
        const { digest } = result.inUse.catalogue;
        log.info({ event: 'catalogue_loaded', outcome: result.outcome, digest });
      }
    },
  };
}
