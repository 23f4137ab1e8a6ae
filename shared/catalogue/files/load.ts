import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import type { Catalogue, Endpoint, Model, Region } from '../catalogue.ts';
import { crossCheck, findOddities } from '../cross-checks.ts';
import type { KnownReferences, Report } from '../cross-checks.ts';
import { shapeProblems } from '../file-shape.ts';
import type { CatalogueFile, FileEndpoint, FileModel, FileRegion } from '../file-shape.ts';
import { CatalogueError, pathText } from '../problem.ts';
import type { CatalogueProblem } from '../problem.ts';
import { readYaml } from '../yaml-document.ts';
import type { YamlDocument } from '../yaml-document.ts';

/** The catalogue that is used when none is named. */
export const DEFAULT_CATALOGUE = new URL('../default.yaml', import.meta.url);

/** Four thousand models with sixteen endpoints each fit; more is a mistake. */
const FILE_BYTES_MAX = 8 * 1024 * 1024;

export interface CatalogueSources {
  /** The value of an environment variable: for `${NAME}`, and to warn of credentials that are not set. */
  variable: (name: string) => string | undefined;
  known?: KnownReferences;
}

export interface LoadedCatalogue {
  catalogue: Catalogue;
  /** What will work and is probably not meant. */
  warnings: readonly CatalogueProblem[];
}

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

/** The same for the bytes of a file. `name` stands before the line in problems. */
export function parseCatalogue(
  bytes: Uint8Array,
  name: string,
  sources: CatalogueSources,
): LoadedCatalogue {
  const document = readYaml(decode(bytes, name), sources.variable);
  if ('problems' in document) throw new CatalogueError(name, document.problems);
  const problems = shapeProblems(document);
  if (problems.length > 0) throw new CatalogueError(name, inOrder(problems));
  const file = document.value as CatalogueFile;
  crossCheck(file, sources.known ?? {}, reporter(document, problems));
  if (problems.length > 0) throw new CatalogueError(name, inOrder(problems));
  const warnings: CatalogueProblem[] = [];
  findOddities(file, sources.variable, reporter(document, warnings));
  const digest = createHash('sha256').update(bytes).digest('hex');
  return { catalogue: toCatalogue(file, digest), warnings: inOrder(warnings) };
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new CatalogueError(name, [{ line: 1, path: '', message: 'the file is not valid UTF-8' }]);
  }
}

function reporter(document: YamlDocument, into: CatalogueProblem[]): Report {
  return (path, message) =>
    into.push({ line: document.lineOf(path), path: pathText(path), message });
}

function inOrder(problems: readonly CatalogueProblem[]): CatalogueProblem[] {
  return problems.toSorted((a, b) => a.line - b.line);
}

function toCatalogue(file: CatalogueFile, digest: string): Catalogue {
  return {
    version: 1,
    digest,
    regions: file.regions.map(toRegion),
    endpoints: file.endpoints.map(toEndpoint),
    models: file.models.map(toModel),
  };
}

/** Values for what a file leaves out stand here and in the published schema. */
function toRegion(region: FileRegion): Region {
  return {
    name: region.code,
    operator: { name: 'unknown' },
    capacity: 2000,
    status: 'normal',
    ...region,
  };
}

function toEndpoint({
  base_url,
  api_key_env,
  timeout_ms,
  energy,
  ...rest
}: FileEndpoint): Endpoint {
  return {
    ...rest,
    baseUrl: base_url.replace(/\/+$/, ''),
    timeoutMs: timeout_ms ?? 120_000,
    ...(api_key_env === undefined ? {} : { apiKeyEnv: api_key_env }),
    ...(energy === undefined ? {} : { energy: toEnergy(energy) }),
  };
}

/** Header names are compared in lower case, as Node gives them. */
function toEnergy({
  header,
  usage_field,
}: NonNullable<FileEndpoint['energy']>): NonNullable<Endpoint['energy']> {
  return {
    ...(header === undefined ? {} : { header: header.toLowerCase() }),
    ...(usage_field === undefined ? {} : { usageField: usage_field }),
  };
}

function toModel({ context_window, max_n, owned_by, footprint, ...rest }: FileModel): Model {
  const { active_b, total_b, ...size } = footprint;
  const slash = rest.id.indexOf('/');
  return {
    modalities: ['text'],
    created: 0,
    ...rest,
    contextWindow: context_window,
    maxN: max_n ?? 1,
    ownedBy: owned_by ?? (slash > 0 ? rest.id.slice(0, slash) : 'docket'),
    footprint: {
      ...size,
      ...(active_b === undefined ? {} : { activeB: active_b }),
      ...(total_b === undefined ? {} : { totalB: total_b }),
    },
  };
}
