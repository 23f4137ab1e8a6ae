import { createHash } from 'node:crypto';
import type {
  Catalogue,
  Endpoint,
  EndpointHeaders,
  Meter,
  Model,
  Price,
  Region,
  Timeouts,
} from './catalogue.ts';
import { crossCheck, findOddities, type KnownReferences, type Report } from './cross-checks.ts';
import {
  type CatalogueFile,
  type FileEndpoint,
  type FileModel,
  type FilePrice,
  type FileRegion,
  shapeProblems,
} from './file-shape.ts';
import { priceOfToken } from './prices.ts';
import { CatalogueError, type CatalogueProblem, pathText } from './problem.ts';
import { stepsOfPath } from './stated-energy.ts';
import { readYaml, type YamlDocument } from './yaml-document.ts';

export interface CatalogueSources {
  /** The value of an environment variable: for `${NAME}`, and to warn of credentials that are not set. */
  variable: (name: string) => string | undefined;
  /** Silence of an upstream that ends an attempt, for endpoints that name none (`UPSTREAM_TIMEOUT_MS`). */
  timeoutMs: number;
  known?: KnownReferences;
}

export interface LoadedCatalogue {
  catalogue: Catalogue;
  /** Things that will work and are probably not meant. */
  warnings: readonly CatalogueProblem[];
}

/**
 * Checks the bytes of a catalogue file and gives them their types. `name` stands before the line in problems.
 * @throws CatalogueError with all problems and their lines; nothing is ever replaced by a default silently.
 */
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
  return { catalogue: toCatalogue(file, digest, sources.timeoutMs), warnings: inOrder(warnings) };
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

function toCatalogue(file: CatalogueFile, digest: string, timeoutMs: number): Catalogue {
  return {
    version: 1,
    digest,
    ...(file.currency === undefined ? {} : { currency: file.currency }),
    regions: file.regions.map(toRegion),
    endpoints: file.endpoints.map((endpoint) => toEndpoint(endpoint, timeoutMs)),
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

function toEndpoint(
  {
    base_url,
    api_key_env,
    developer_role,
    reasoning_content,
    timeout_ms,
    timeouts,
    headers,
    energy,
    meter,
    ...rest
  }: FileEndpoint,
  timeoutMs: number,
): Endpoint {
  return {
    ...rest,
    baseUrl: base_url.replace(/\/+$/, ''),
    timeoutMs: timeout_ms ?? timeoutMs,
    ...(api_key_env === undefined ? {} : { apiKeyEnv: api_key_env }),
    ...(developer_role === undefined ? {} : { developerRole: developer_role }),
    ...(reasoning_content === undefined ? {} : { reasoningContent: reasoning_content }),
    ...(timeouts === undefined ? {} : { timeouts: toTimeouts(timeouts) }),
    ...(headers === undefined ? {} : { headers: toHeaders(headers) }),
    ...(energy === undefined ? {} : { energy: toEnergy(energy) }),
    ...(meter === undefined ? {} : { meter: toMeter(meter) }),
  };
}

function toTimeouts({
  headers_ms: headersMs,
  first_byte_ms: firstByteMs,
  between_bytes_ms: betweenBytesMs,
  total_ms: totalMs,
}: NonNullable<FileEndpoint['timeouts']>): Partial<Timeouts> {
  return {
    ...(headersMs === undefined ? {} : { headersMs }),
    ...(firstByteMs === undefined ? {} : { firstByteMs }),
    ...(betweenBytesMs === undefined ? {} : { betweenBytesMs }),
    ...(totalMs === undefined ? {} : { totalMs }),
  };
}

function toHeaders({
  request_id,
  traceparent,
}: NonNullable<FileEndpoint['headers']>): EndpointHeaders {
  const requestId = request_id === 'none' ? null : request_id?.toLowerCase();
  return {
    ...(requestId === undefined ? {} : { requestId }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}

/** Header names are compared in lower case, as Node gives them. */
function toEnergy({
  header,
  usage_field,
  json_path,
  unit,
}: NonNullable<FileEndpoint['energy']>): NonNullable<Endpoint['energy']> {
  return {
    ...(header === undefined ? {} : { header: header.toLowerCase() }),
    ...(usage_field === undefined ? {} : { usageField: usage_field }),
    ...(json_path === undefined ? {} : { path: stepsOfPath(json_path)! }),
    ...(unit === undefined ? {} : { unit }),
  };
}

/** Without names of its own, a meter is NVIDIA's DCGM exporter. */
function toMeter(meter: NonNullable<FileEndpoint['meter']>): Meter {
  return {
    url: meter.url,
    ...(meter.token_env === undefined ? {} : { tokenEnv: meter.token_env }),
    labels: meter.labels ?? {},
    energyMetric: meter.energy_metric ?? 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION',
    energyUnit: meter.energy_unit ?? 'mJ',
    powerMetric: meter.power_metric ?? 'DCGM_FI_DEV_POWER_USAGE',
    powerUnit: meter.power_unit ?? 'W',
  };
}

function toModel({
  context_window,
  max_n,
  max_tools,
  owned_by,
  prices,
  footprint,
  ...rest
}: FileModel): Model {
  const { active_b, total_b, ...size } = footprint;
  const slash = rest.id.indexOf('/');
  return {
    created: 0,
    ...rest,
    contextWindow: context_window,
    maxN: max_n ?? 1,
    ...(max_tools === undefined ? {} : { maxTools: max_tools }),
    ...(prices === undefined ? {} : { prices: prices.map(toPrice) }),
    ownedBy: owned_by ?? (slash > 0 ? rest.id.slice(0, slash) : 'docket'),
    footprint: {
      ...size,
      ...(active_b === undefined ? {} : { activeB: active_b }),
      ...(total_b === undefined ? {} : { totalB: total_b }),
    },
  };
}

/** Cached input costs what other input does, and output nothing, where no price is named. */
function toPrice({ from, input, cached_input, output, ...place }: FilePrice): Price {
  return {
    ...place,
    from: Date.parse(from),
    input: priceOfToken(input),
    cachedInput: priceOfToken(cached_input ?? input),
    output: priceOfToken(output ?? '0'),
  };
}
