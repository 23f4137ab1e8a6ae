import { isoDay } from '#shared/kernel/time.ts';
import { isSeen } from '#shared/kernel/characters.ts';
import { oddBaseUrl } from './base-url.ts';
import type { CatalogueFile, FileEndpoint, FileModel, FilePrice } from './file-shape.ts';
import type { Path } from './problem.ts';
import { stepsOfPath } from './stated-energy.ts';

/** Things outside itself that the catalogue may refer to. A set that is not given is not checked. */
export interface KnownReferences {
  /** Grid zones of the factor set. */
  zones?: ReadonlySet<string>;
  /** Ids of the factor set's model records. */
  models?: ReadonlySet<string>;
  /** Providers that the `ai-sdk` adapter can load. */
  providers?: ReadonlySet<string>;
}

/** Collects what is wrong at a path. */
export type Report = (path: Path, message: string) => void;

/** Checks what a schema cannot: references that lead nowhere, names used twice, fields that contradict each other. */
export function crossCheck(file: CatalogueFile, known: KnownReferences, report: Report): void {
  const regions = uniqueNames(
    file.regions.map((region) => region.code),
    ['regions'],
    'code',
    report,
  );
  const endpoints = uniqueNames(
    file.endpoints.map((endpoint) => endpoint.name),
    ['endpoints'],
    'name',
    report,
  );
  const models = uniqueNames(
    file.models.map((model) => model.id),
    ['models'],
    'id',
    report,
  );
  checkAliases(file, models, report);
  for (const [index, region] of file.regions.entries()) {
    if (known.zones?.has(region.zone) === false) {
      report(['regions', index, 'zone'], `the factor set has no grid zone ${region.zone}`);
    }
    if (region.operator !== undefined && !isSeen(region.operator.name)) {
      report(['regions', index, 'operator', 'name'], 'has characters that do not show');
    }
  }
  for (const [index, endpoint] of file.endpoints.entries()) {
    checkEndpoint(endpoint, ['endpoints', index], regions, known, report);
  }
  checkMeters(file, report);
  for (const [index, model] of file.models.entries()) {
    checkModel(model, ['models', index], endpoints, known, report);
    checkPrices(model, ['models', index, 'prices'], { file, regions, report });
  }
}

/** Reports what will work and is probably not meant. `variable` tells which credentials are there. */
export function findOddities(
  file: CatalogueFile,
  variable: (name: string) => string | undefined,
  report: Report,
): void {
  const inUse = new Set(file.models.flatMap((model) => model.endpoints.map(({ name }) => name)));
  const alive = new Set(
    file.regions.filter(({ status }) => status !== 'decommissioned').map(({ code }) => code),
  );
  for (const [index, endpoint] of file.endpoints.entries()) {
    if (!inUse.has(endpoint.name))
      report(['endpoints', index], `no model uses the endpoint ${endpoint.name}`);
    const odd = endpoint.adapter === 'ai-sdk' ? undefined : oddBaseUrl(endpoint.base_url);
    if (odd !== undefined) report(['endpoints', index, 'base_url'], odd);
    const credentials = [
      [['api_key_env'], endpoint.api_key_env],
      [['meter', 'token_env'], endpoint.meter?.token_env],
    ] as const;
    for (const [path, name] of credentials) {
      if (name === undefined || variable(name) !== undefined) continue;
      report(['endpoints', index, ...path], `the environment variable ${name} is not set`);
    }
  }
  const regionsOf = new Map(file.endpoints.map((endpoint) => [endpoint.name, endpoint.regions]));
  for (const [index, model] of file.models.entries()) {
    const offered = model.endpoints.flatMap(({ name }) => regionsOf.get(name) ?? []);
    if (!offered.some((code) => alive.has(code))) {
      report(['models', index], `every region of the model ${model.id} is decommissioned`);
    }
  }
}

function uniqueNames(
  names: readonly string[],
  path: Path,
  field: string,
  report: Report,
): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (seen.has(name)) report([...path, index, field], `${name} is used twice`);
    seen.add(name);
  }
  return seen;
}

/** A name that is asked for is of one model. */
function checkAliases(file: CatalogueFile, ids: ReadonlySet<string>, report: Report): void {
  const seen = new Set(ids);
  for (const [index, { aliases = [] }] of file.models.entries()) {
    for (const [at, alias] of aliases.entries()) {
      if (seen.has(alias))
        report(['models', index, 'aliases', at], `${alias} is the name of a model already`);
      seen.add(alias);
    }
  }
}

function checkEndpoint(
  endpoint: FileEndpoint,
  path: Path,
  regions: ReadonlySet<string>,
  known: KnownReferences,
  report: Report,
): void {
  for (const [index, code] of endpoint.regions.entries()) {
    if (!regions.has(code)) report([...path, 'regions', index], `there is no region ${code}`);
  }
  const { adapter, provider } = endpoint;
  if (adapter === 'ai-sdk' && provider === undefined)
    report(path, 'the adapter ai-sdk needs a `provider`');
  if (adapter !== 'ai-sdk' && provider !== undefined) {
    report([...path, 'provider'], `the adapter ${adapter} has no providers`);
  }
  if (adapter === 'ai-sdk' && endpoint.responses === true) {
    report([...path, 'responses'], `the adapter ${adapter} sends these requests as chats`);
  }
  if (adapter === 'ai-sdk' && provider !== 'anthropic' && endpoint.messages === true) {
    report([...path, 'messages'], `the provider ${provider} has no such interface`);
  }
  if (provider !== undefined && known.providers?.has(provider) === false) {
    report(
      [...path, 'provider'],
      `there is no provider ${provider}; there are ${[...known.providers].join(', ')}`,
    );
  }
  const wrong = wrongUrl(endpoint.base_url);
  if (wrong !== undefined) report([...path, 'base_url'], wrong);
  const { energy } = endpoint;
  if (energy?.json_path !== undefined && stepsOfPath(energy.json_path) === undefined) {
    report(
      [...path, 'energy', 'json_path'],
      'must be a JSON path to one value, such as $.usage.energy.joules',
    );
  }
  if (energy !== undefined && Object.keys(energy).every((name) => name === 'unit'))
    report([...path, 'energy'], 'says no place: `header`, `usage_field` or `json_path`');
}

/** Energy must not be counted twice: by an upstream and a meter, or by the meters of two endpoints. */
function checkMeters({ endpoints }: CatalogueFile, report: Report): void {
  for (const [index, { meter, energy }] of endpoints.entries()) {
    if (meter === undefined) continue;
    const path = ['endpoints', index, 'meter'];
    const wrong = wrongUrl(meter.url);
    if (wrong !== undefined) report([...path, 'url'], wrong.replace('api_key_env', 'token_env'));
    if (energy !== undefined) report(path, 'stands beside `energy`; keep one');
    const other = endpoints
      .slice(0, index)
      .find((each) => each.meter?.url === meter.url && overlaps(each.meter.labels, meter.labels));
    if (other !== undefined) {
      const what = `the accelerators of ${other.name} are selected too; tell them apart by \`labels\``;
      report(path, what);
    }
  }
}

/** Whether some accelerator may have all labels of both. */
function overlaps(one: Record<string, string> = {}, other: Record<string, string> = {}): boolean {
  return Object.entries(one).every(([name, value]) => (other[name] ?? value) === value);
}

/** The url is not repeated: it may hold what should not be in a log. */
function wrongUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return 'must be an http or https url';
  if (url.username !== '' || url.password !== '')
    return 'must not hold a credential; name it in `api_key_env`';
  return url.hash === '' ? undefined : 'must not have a fragment';
}

function checkModel(
  model: FileModel,
  path: Path,
  endpoints: ReadonlySet<string>,
  known: KnownReferences,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const [index, { name }] of model.endpoints.entries()) {
    if (!endpoints.has(name))
      report([...path, 'endpoints', index, 'name'], `there is no endpoint ${name}`);
    if (seen.has(name))
      report([...path, 'endpoints', index, 'name'], `${name} is named twice for this model`);
    seen.add(name);
  }
  const { ref, active_b: active, total_b: total } = model.footprint;
  const at = [...path, 'footprint'];
  if (ref !== undefined && known.models?.has(ref) === false) {
    report([...at, 'ref'], `the factor set has no model ${ref}`);
  }
  if (ref !== undefined && (active !== undefined || total !== undefined))
    report(at, 'has both `ref` and a declared size; keep one');
  if (active !== undefined && total !== undefined && active > total) {
    report([...at, 'active_b'], 'must not be more than `total_b`');
  }
}

function checkPrices(
  { prices = [], endpoints }: FileModel,
  path: Path,
  { file, regions, report }: { file: CatalogueFile; regions: ReadonlySet<string>; report: Report },
): void {
  if (prices.length > 0 && file.currency === undefined)
    report(path, 'say in which `currency` they are, at the top of the file');
  const nameOf = ({ from, endpoint, region }: FilePrice): string =>
    JSON.stringify([from, endpoint, region]);
  const seen = new Set<string>();
  for (const [index, price] of prices.entries()) {
    const { from, endpoint, region } = price;
    const at = [...path, index];
    if (endpoint !== undefined && !endpoints.some(({ name }) => name === endpoint))
      report([...at, 'endpoint'], `the model has no endpoint ${endpoint}`);
    if (region !== undefined && !regions.has(region))
      report([...at, 'region'], `there is no region ${region}`);
    // 30 February would be a day of March.
    const time = Date.parse(from);
    if (Number.isNaN(time) || isoDay(time) !== from)
      report([...at, 'from'], 'there is no such day');
    if (seen.has(nameOf(price))) report(at, 'is the second one from this day for the same');
    seen.add(nameOf(price));
  }
}
