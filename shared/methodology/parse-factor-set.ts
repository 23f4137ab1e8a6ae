import type { FactorSet } from './factor-set.ts';
import { FACTOR_SET_SHAPE } from './factor-set-shape.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/**
 * Checks a factor set read from a file: every field, bound and cross-reference.
 * Throws MalformedData, naming the field, rather than repairing or skipping anything.
 */
export function parseFactorSet(value: unknown): FactorSet {
  FACTOR_SET_SHAPE(value, '');
  const set = value as FactorSet;
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
function refuseDangling(set: FactorSet, known: ReadonlySet<string>, key: string): void {
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) {
      value.forEach((entry, index) => visit(entry, `${path}[${index}]`));
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, entry] of Object.entries(value)) {
        const at = path === '' ? name : `${path}.${name}`;
        if (name === key && path !== '') refuseUnknown(entry as string[], known, at);
        else visit(entry, at);
      }
    }
  };
  visit(set, '');
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
