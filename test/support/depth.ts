import { readEnvironment } from '#shared/config/config.ts';

/**
 * How much of what is random or exhaustive a run of the tests holds. `npm test` takes a tenth of it by a fixed seed, so that
 * it is quick and a change is refused for what it changes alone. `npm run test:deep` names a seed here and takes all of it.
 */
const deepSeed = readEnvironment()['DEEP_SEED'];

export const isDeep = deepSeed !== undefined;
export const SEED = deepSeed === undefined ? 20_261_120 : Number(deepSeed);

const SHARE = 10;
/** With fewer values a property says little, and pure code has checked them in milliseconds. */
const RUNS_MIN = 25;

/** @param atLeast fewer than usual for a property whose single runs take long */
export function runs(full: number, atLeast = RUNS_MIN): number {
  return isDeep ? full : Math.min(full, Math.max(atLeast, Math.ceil(full / SHARE)));
}

/** Every tenth row, and the first of each kind. */
export function sample<T>(rows: readonly T[], kindOf: (row: T) => string): T[] {
  const kinds = new Set<string>();
  return rows.filter((row, i) => {
    const isFirst = !kinds.has(kindOf(row));
    kinds.add(kindOf(row));
    return isDeep || isFirst || (i + SEED) % SHARE === 0;
  });
}
