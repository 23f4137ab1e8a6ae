import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import schema from '../../docs/catalogue.schema.json' with { type: 'json' };
import type { Endpoint, Footprint, Meter, Model, Region } from './catalogue.ts';
import { type CatalogueProblem, type Path, pathText } from './problem.ts';
import type { YamlDocument } from './yaml-document.ts';

/** A catalogue file as it is written, after the published JSON Schema has accepted it. */
export interface CatalogueFile {
  version: 1;
  currency?: string;
  regions: FileRegion[];
  endpoints: FileEndpoint[];
  models: FileModel[];
}

export type FileRegion = Pick<Region, 'code' | 'zone'> & Partial<Region>;

export interface FileEndpoint {
  name: string;
  adapter: Endpoint['adapter'];
  provider?: string;
  base_url: string;
  api_key_env?: string;
  regions: string[];
  responses?: boolean;
  messages?: boolean;
  developer_role?: boolean;
  reasoning_content?: boolean;
  timeout_ms?: number;
  timeouts?: Partial<Record<FileTimeout, number>>;
  headers?: { request_id?: string; traceparent?: boolean };
  energy?: {
    header?: string;
    usage_field?: string;
    json_path?: string;
    unit?: NonNullable<Endpoint['energy']>['unit'];
  };
  meter?: {
    url: string;
    token_env?: string;
    labels?: Record<string, string>;
    energy_metric?: string;
    energy_unit?: Meter['energyUnit'];
    power_metric?: string;
    power_unit?: Meter['powerUnit'];
  };
}

type FileTimeout = 'headers_ms' | 'first_byte_ms' | 'between_bytes_ms' | 'total_ms';

export interface FileModel extends Pick<Model, 'id' | 'kinds' | 'endpoints'> {
  context_window: number;
  tokenizer?: string;
  aliases?: string[];
  modalities?: string[];
  max_n?: number;
  max_tools?: number;
  dimensions?: number;
  owned_by?: string;
  created?: number;
  plans?: NonNullable<Model['plans']>;
  organisations?: string[];
  tiers?: NonNullable<Model['tiers']>;
  prices?: FilePrice[];
  footprint: Omit<Footprint, 'activeB' | 'totalB'> & { active_b?: number; total_b?: number };
}

export interface FilePrice {
  from: string;
  input: string;
  cached_input?: string;
  output?: string;
  endpoint?: string;
  region?: string;
}

// How the schema is written is tested once, and not asked at each start of a process; nor is its code made shorter, which
// takes as long as making it.
const check = new Ajv2020({
  allErrors: true,
  verbose: true,
  strict: false,
  validateSchema: false,
  code: { optimize: false },
}).compile<CatalogueFile>(schema);

/** Everything in which the file departs from the schema; empty when it is a `CatalogueFile`. */
export function shapeProblems(document: YamlDocument): CatalogueProblem[] {
  if (check(document.value)) return [];
  return (check.errors ?? []).map((error) => problemOf(error, document));
}

function problemOf(error: ErrorObject, document: YamlDocument): CatalogueProblem {
  const at = steps(error.instancePath, document.value);
  const unknown = error.keyword === 'additionalProperties';
  const path = unknown ? [...at, String(error.params['additionalProperty'])] : at;
  return { line: document.lineOf(path), path: pathText(path), message: words(error) };
}

/** Ajv's pointer as steps; a step into an array is an index. */
function steps(pointer: string, root: unknown): Path {
  const path: (string | number)[] = [];
  let value = root;
  for (const raw of pointer.split('/').slice(1)) {
    const step = raw.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(value) ? Number(step) : step);
    value = (value as Record<string, unknown>)[step];
  }
  return path;
}

function words(error: ErrorObject): string {
  const { keyword, params, parentSchema } = error;
  switch (keyword) {
    case 'additionalProperties':
      return `unknown field${suggestion(String(params['additionalProperty']), parentSchema)}`;
    case 'required':
      return `\`${params['missingProperty']}\` is missing`;
    case 'enum':
      return `must be one of ${(params['allowedValues'] as unknown[]).join(', ')}`;
    case 'const':
      return `must be ${String(params['allowedValue'])}`;
    case 'pattern':
      return `must be ${String(parentSchema?.['description'])}`;
    case 'type':
      return `must be ${article(String(params['type']))}`;
    default:
      return error.message ?? 'is not as the schema wants it';
  }
}

function article(type: string): string {
  if (type === 'object') return 'a set of fields';
  if (type === 'array') return 'a list';
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** The field that was probably meant. */
function suggestion(written: string, parentSchema: ErrorObject['parentSchema']): string {
  const known = Object.keys((parentSchema?.['properties'] as object | undefined) ?? {});
  const near = known.find((name) => distance(written, name) <= 2);
  return near === undefined ? '' : `; is \`${near}\` meant?`;
}

/** Levenshtein distance; field names are short. */
function distance(a: string, b: string): number {
  // So different in length that they are far apart in any case; and a hostile key cannot make the table large.
  if (Math.abs(a.length - b.length) > 2) return Infinity;
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const change = previous[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(change, previous[column]! + 1, current[column - 1]! + 1));
    }
    previous = current;
  }
  return previous[b.length]!;
}
