import { type Methodologies, methodologiesOver } from '../releases.ts';
import { shippedFactorSets } from './load.ts';

let shipped: Methodologies | undefined;

/** Every methodology that was ever released, over the factor sets that are shipped: made once in a process. */
export function shippedMethodologies(): Methodologies {
  return (shipped ??= methodologiesOver(shippedFactorSets()));
}
