import type { FactorSet } from './factor-set.ts';
import type { KnownReferences } from '#shared/catalogue/cross-checks.ts';

/** What a catalogue may refer to in a factor set: grid zones, and models by their ids, other names and classes. */
export function referencesIn(set: FactorSet): KnownReferences {
  return {
    zones: new Set(set.grid.map((record) => record.id)),
    models: new Set([
      ...set.models.flatMap((record) => [record.id, ...record.aliases]),
      ...set.model_classes.map((record) => record.id),
    ]),
  };
}
