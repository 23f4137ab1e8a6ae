import type { Logger } from 'pino';
import {
  type CatalogueHolder,
  createCatalogueHolder,
  DEFAULT_CATALOGUE,
} from '#shared/catalogue/files/load.ts';
import { NATIVE_PROVIDERS } from '#shared/catalogue/http/native-providers.ts';
import type { CatalogueSources } from '#shared/catalogue/parse.ts';
import { CatalogueError } from '#shared/catalogue/problem.ts';
import { ConfigError, type ToolConfig } from '#shared/config/config.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { referencesIn } from '#shared/methodology/known-references.ts';

export interface OpenCatalogue {
  current: CatalogueHolder['current'];
  /** Reads the file again; a bad one is reported and the old one stays. */
  reload: () => void;
}

/** The sources that a catalogue file is read with: variables, settings, the newest factor set, the providers there are. */
export function catalogueSources(config: ToolConfig): CatalogueSources {
  return {
    variable: config.upstreamCredential,
    timeoutMs: config.upstreamTimeoutMs,
    known: {
      ...referencesIn(newestFactorSet()),
      providers: new Set(Object.keys(NATIVE_PROVIDERS)),
    },
  };
}

/** Loads the catalogue of this process, says what is odd about it, and reloads it on demand. */
export function openCatalogue(config: ToolConfig, log: Logger): OpenCatalogue {
  const file = config.cataloguePath ?? DEFAULT_CATALOGUE;
  const holder = holderOf(file, config);
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

/** @throws ConfigError where the catalogue that comes with Docket is to be used beyond its own sandbox */
function holderOf(file: string | URL, config: ToolConfig): CatalogueHolder {
  try {
    return createCatalogueHolder(file, catalogueSources(config));
  } catch (error) {
    if (config.cataloguePath !== undefined || !(error instanceof CatalogueError)) throw error;
    throw new ConfigError([
      'CATALOGUE is not set: the one that comes with Docket names the sandbox of npm start alone. Name a catalogue of your models, regions and endpoints (docs/catalogue.md); docket catalogue check says what is wrong with it',
    ]);
  }
}
