import { isObject } from '#shared/kernel/json-object.ts';
import { parseTerm, type Term } from './terms.ts';

/** The error codes of blocked requests. */
const SCREEN_CODES = ['dual_use_screen_block', 'acceptable_use_violation'] as const;
export type ScreenCode = (typeof SCREEN_CODES)[number];

/** A versioned set of rules. Written as YAML or JSON; this is its shape once it has passed `validatePack`. */
export interface Pack {
  /** Version of this format. */
  format: 1;
  /** Day of issue, with a serial number where a day has several: `2026-11-01`, `2026-11-01.2`. */
  version: string;
  /** SHA-256 of the canonical JSON of everything else, base64url: two packs with one version can be told apart. */
  digest: string;
  description: string;
  /** Named vocabularies, alternatives resolved. */
  groups: Readonly<Record<string, readonly Term[]>>;
  /** Names of groups whose phrases are innocent: what lies inside such a phrase is not seen. */
  masks: readonly string[];
  /** A sequence that begins inside or up to `within` words after one of these phrases is not seen ("never explain how to"). */
  guard: { groups: readonly string[]; within: number };
  rules: readonly Rule[];
}

interface Rule {
  id: string;
  code: ScreenCode;
  /** E.g. `chemical`, `cyber`, `minors`: what reports count by. */
  category: string;
  description: string;
  /** One of these is enough. */
  any: readonly Pattern[];
  /** Texts that this rule must find, and texts that the whole pack must let through. */
  positive: readonly string[];
  negative: readonly string[];
}

/** Terms of the named groups, one after the other. */
export interface Pattern {
  /** Each element is a group, or several of which one is enough. */
  sequence: readonly (readonly string[])[];
  /** Words that may stand between two elements. */
  gap: number;
  /** Groups that may not stand between two elements. */
  break: readonly string[];
  /** `any`: the elements may come in any order. */
  order: 'given' | 'any';
}

/** Histories hold 32 words; 16 between two elements and the longest term fit with room. */
const GAP_MAX = 16;
const GUARD_WITHIN_MAX = 16;
const SEQUENCE_MAX = 6;
/** Any order means every permutation: 3 elements are 6, which is enough. */
const ANY_ORDER_MAX = 3;
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const VERSION = /^\d{4}-\d{2}-\d{2}(\.[1-9]\d{0,2})?$/;

/** A pack that cannot be used. `path` says where: `rules[2].any[0].gap`. */
export class PackError extends Error {
  readonly path: string;
  constructor(path: string, reason: string) {
    super(`${path === '' ? 'pack' : path}: ${reason}`);
    this.name = 'PackError';
    this.path = path;
  }
}

/**
 * Checks untrusted data and gives it its types; `digest` comes from the reader of the bytes.
 * Unknown fields, unknown groups, unusable terms and missing examples are refused with their path (`PackError`).
 */
export function validatePack(data: unknown, digest: string): Pack {
  const pack = record(
    data,
    '',
    ['format', 'version', 'description', 'groups', 'rules'],
    ['masks', 'guard'],
  );
  if (pack['format'] !== 1) throw new PackError('format', 'must be 1');
  const version = text(pack['version'], 'version');
  if (!VERSION.test(version)) throw new PackError('version', 'must be a day, such as 2026-11-01');
  const groups = groupsOf(pack['groups']);
  const known = (name: unknown, path: string): string => {
    if (typeof name !== 'string' || !Object.hasOwn(groups, name)) {
      throw new PackError(path, `unknown group ${JSON.stringify(name)}`);
    }
    return name;
  };
  const guard = record(
    pack['guard'] ?? { groups: [], within: 0 },
    'guard',
    ['groups', 'within'],
    [],
  );
  const rules = list(pack['rules'], 'rules').map((rule, i) => ruleOf(rule, `rules[${i}]`, known));
  rules.forEach((rule, i) => {
    if (rules.findIndex((other) => other.id === rule.id) !== i) {
      throw new PackError(`rules[${i}].id`, `"${rule.id}" is taken`);
    }
  });
  return {
    format: 1,
    version,
    digest,
    description: text(pack['description'], 'description'),
    groups,
    masks: list(pack['masks'] ?? [], 'masks').map((name, i) => known(name, `masks[${i}]`)),
    guard: {
      groups: list(guard['groups'], 'guard.groups').map((name, i) =>
        known(name, `guard.groups[${i}]`),
      ),
      within: whole(guard['within'], 'guard.within', GUARD_WITHIN_MAX),
    },
    rules,
  };
}

function groupsOf(data: unknown): Pack['groups'] {
  if (!isObject(data)) throw new PackError('groups', 'must be an object');
  const groups = Object.create(null) as Record<string, readonly Term[]>;
  for (const [name, terms] of Object.entries(data)) {
    const path = `groups.${name}`;
    if (!NAME.test(name)) throw new PackError(path, 'a group is named in lower case with hyphens');
    groups[name] = filled(terms, path).flatMap((term, i) => {
      const written = text(term, `${path}[${i}]`);
      try {
        return parseTerm(written);
      } catch (error) {
        throw new PackError(`${path}[${i}]`, (error as Error).message);
      }
    });
  }
  return groups;
}

type KnownGroup = (name: unknown, path: string) => string;

function ruleOf(data: unknown, path: string, known: KnownGroup): Rule {
  const rule = record(
    data,
    path,
    ['id', 'code', 'category', 'description', 'any', 'positive', 'negative'],
    [],
  );
  const id = text(rule['id'], `${path}.id`);
  if (!NAME.test(id))
    throw new PackError(`${path}.id`, 'a rule is named in lower case with hyphens');
  const code = SCREEN_CODES.find((each) => each === rule['code']);
  if (code === undefined)
    throw new PackError(`${path}.code`, `must be one of ${SCREEN_CODES.join(', ')}`);
  const texts = (name: 'positive' | 'negative'): string[] =>
    filled(rule[name], `${path}.${name}`).map((item, i) => text(item, `${path}.${name}[${i}]`));
  return {
    id,
    code,
    category: text(rule['category'], `${path}.category`),
    description: text(rule['description'], `${path}.description`),
    any: filled(rule['any'], `${path}.any`).map((p, i) => patternOf(p, `${path}.any[${i}]`, known)),
    positive: texts('positive'),
    negative: texts('negative'),
  };
}

function patternOf(data: unknown, path: string, known: KnownGroup): Pattern {
  const pattern = record(data, path, ['sequence', 'gap'], ['break', 'order']);
  const order = pattern['order'] ?? 'given';
  if (order !== 'given' && order !== 'any')
    throw new PackError(`${path}.order`, 'must be given or any');
  const elements = filled(pattern['sequence'], `${path}.sequence`);
  const longest = order === 'any' ? ANY_ORDER_MAX : SEQUENCE_MAX;
  if (elements.length < 2 || elements.length > longest) {
    throw new PackError(
      `${path}.sequence`,
      `must have 2 to ${longest} elements: one word alone is no intent`,
    );
  }
  return {
    sequence: elements.map((element, i) => {
      const at = `${path}.sequence[${i}]`;
      if (!Array.isArray(element)) return [known(element, at)];
      return filled(element, at).map((name, j) => known(name, `${at}[${j}]`));
    }),
    gap: whole(pattern['gap'], `${path}.gap`, GAP_MAX),
    break: list(pattern['break'] ?? [], `${path}.break`).map((name, i) =>
      known(name, `${path}.break[${i}]`),
    ),
    order,
  };
}

function record(
  data: unknown,
  path: string,
  required: readonly string[],
  optional: readonly string[],
): Record<string, unknown> {
  if (!isObject(data)) throw new PackError(path, 'must be an object');
  const at = (name: string): string => (path === '' ? name : `${path}.${name}`);
  for (const name of Object.keys(data)) {
    if (!required.includes(name) && !optional.includes(name))
      throw new PackError(at(name), 'unknown field');
  }
  for (const name of required)
    if (data[name] === undefined) throw new PackError(at(name), 'is missing');
  return data;
}

function list(data: unknown, path: string): unknown[] {
  if (!Array.isArray(data)) throw new PackError(path, 'must be a list');
  return data;
}

function filled(data: unknown, path: string): unknown[] {
  const items = list(data, path);
  if (items.length === 0) throw new PackError(path, 'must not be empty');
  return items;
}

function text(data: unknown, path: string): string {
  if (typeof data !== 'string' || data.trim() === '') throw new PackError(path, 'must be a text');
  return data;
}

function whole(data: unknown, path: string, max: number): number {
  if (typeof data !== 'number' || !Number.isInteger(data) || data < 0 || data > max) {
    throw new PackError(path, `must be a whole number from 0 to ${max}`);
  }
  return data;
}
