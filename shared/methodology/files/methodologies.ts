import type { FactorSetFile } from '../factor-set-file.ts';
import { type Methodologies, methodologiesOver } from '../releases.ts';
import { shippedFactorSets } from './load.ts';

/** Every methodology that was ever released, over the factor sets that are shipped unless told otherwise. */
export function loadMethodologies(
  sets: readonly FactorSetFile[] = shippedFactorSets(),
): Methodologies {
  return methodologiesOver(sets);
}

let shipped: Methodologies | undefined;

/** Those over the factor sets that are shipped, made once in a process. */
export function shippedMethodologies(): Methodologies {
  return (shipped ??= loadMethodologies());
}
