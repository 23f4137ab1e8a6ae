import { isSeen } from '#shared/kernel/characters.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import {
  ends,
  FACTOR_SET_FORMAT,
  type FactorSet,
  type KvLayout,
  type ModelClassRecord,
  type ModelRecord,
  type Range,
  SIZE_B_MAX,
} from './factor-set.ts';

const factorSetOf = shapeOf(FACTOR_SET_FORMAT);

/**
 * Checks a factor set read from a file: every field, bound and cross-reference.
 * Throws MalformedData, naming the field, rather than repairing or skipping anything.
 */
export function parseFactorSet(value: unknown): FactorSet {
  const set: FactorSet = factorSetOf(value);
  refuseReversedRanges(set, '');
  set.models.forEach((model, index) => checkModel(model, `models[${index}]`));
  set.model_classes.forEach((group, index) => checkModelClass(group, `model_classes[${index}]`));
  for (const table of ['sites', 'models', 'hardware'] as const)
    set[table].forEach(({ id }, index) => checkId(id, `${table}[${index}].id`));
  checkId(set.unknown_site.id, 'unknown_site.id');
  refuseDuplicates(
    'sources',
    set.sources.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'flags',
    set.flags.map((entry) => [entry.code]),
  );
  refuseDuplicates(
    'fields',
    set.fields.map((entry) => [entry.name]),
  );
  refuseDuplicates(
    'grid',
    set.grid.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'hardware',
    set.hardware.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'uncertainty',
    set.uncertainty.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'anchors',
    set.anchors.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'model_classes',
    set.model_classes.map((entry) => [entry.id]),
  );
  refuseDuplicates(
    'sites',
    set.sites.map((entry) => [entry.id, ...entry.aliases]),
  );
  refuseDuplicates(
    'models',
    set.models.map((entry) => [entry.id, ...entry.aliases]),
  );
  refuseDangling(set, new Set(set.sources.map((entry) => entry.id)), 'sources');
  refuseDangling(set, new Set(set.flags.map((entry) => entry.code)), 'flags');
  return set;
}

/** Derivations name records by their ids, and hold no text that is not what it shows. */
function checkId(id: string, path: string): void {
  if (!isSeen(id)) throw new MalformedData('wrong_value', path, 'has characters that do not show');
}

function checkModel(model: ModelRecord, path: string): void {
  const active = ends(model.active_b);
  const total = ends(model.total_b);
  if (active.min > total.min || active.max > total.max) {
    throw new MalformedData('wrong_value', `${path}.active_b`, 'is above total_b');
  }
  if (model.architecture === 'dense' && (active.min !== total.min || active.max !== total.max)) {
    throw new MalformedData(
      'wrong_value',
      `${path}.active_b`,
      'of a dense model must equal total_b',
    );
  }
  if (model.kv === undefined) return;
  const derived = { bytes_per_token: kvBytes(model.kv), operations_per_pair: pairWork(model.kv) };
  for (const [name, value] of Object.entries(derived)) {
    if (model.kv[name as keyof typeof derived] === value) continue;
    throw new MalformedData('wrong_value', `${path}.kv.${name}`, 'does not follow from the layout');
  }
}

function kvBytes(layout: KvLayout): number {
  // A grouped layout keeps a key and a value per head, a latent one a single vector for both.
  const values =
    layout.layout === 'latent' ? layout.latent_dim : 2 * layout.kv_heads * layout.head_dim;
  return layout.layers * values * layout.value_bytes;
}

/** Each head multiplies a query with a key, and a weight with a value: two operations for each of their numbers. */
function pairWork(layout: KvLayout): number {
  const dims = layout.layout === 'latent' ? layout.key_dim + layout.value_dim : 2 * layout.head_dim;
  return 2 * layout.layers * layout.query_heads * dims;
}

function checkModelClass(group: ModelClassRecord, path: string): void {
  if (group.active_b > group.total_b) {
    throw new MalformedData('wrong_value', `${path}.active_b`, 'is above total_b');
  }
  if (group.total_b <= group.total_b_above || group.total_b > (group.total_b_up_to ?? SIZE_B_MAX)) {
    throw new MalformedData('wrong_value', `${path}.total_b`, 'lies outside its own class');
  }
}

/** The fields and items of a value, each with its place. */
function* within(
  value: unknown,
  path: string,
): Generator<[name: string, at: string, entry: unknown]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, entry] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    yield [name, at, entry];
  }
}

/** Every range anywhere has its lower end first. */
function refuseReversedRanges(value: unknown, path: string): void {
  for (const [name, at, entry] of within(value, path)) {
    if (name === 'max' && (entry as number) < (value as Range).min) {
      throw new MalformedData('wrong_value', at, 'is below min');
    }
    refuseReversedRanges(entry, at);
  }
}

/** Names are looked up without regard to case, so they must differ without it too. */
function refuseDuplicates(table: string, rows: readonly (readonly string[])[]): void {
  const seen = new Set<string>();
  rows.forEach((row, index) => {
    for (const name of row) {
      const folded = name.toLowerCase();
      if (seen.has(folded))
        throw new MalformedData('contradiction', `${table}[${index}]`, `repeats ${name}`);
      seen.add(folded);
    }
  });
}

/** Every `sources` or `flags` list anywhere names entries of the table at the top. */
function refuseDangling(value: unknown, known: ReadonlySet<string>, key: string, path = ''): void {
  for (const [name, at, entry] of within(value, path)) {
    if (name === key && path !== '') refuseUnknown(entry as string[], known, at);
    else refuseDangling(entry, known, key, at);
  }
}

function refuseUnknown(entries: readonly string[], known: ReadonlySet<string>, path: string): void {
  entries.forEach((entry, index) => {
    if (!known.has(entry))
      throw new MalformedData(
        'contradiction',
        `${path}[${index}]`,
        `names ${entry}, which is not listed`,
      );
  });
}
