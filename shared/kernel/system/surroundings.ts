import { randomBytes } from 'node:crypto';
import type { Surroundings } from '../surroundings.ts';
import { newId } from './new-id.ts';

/** The machine's clock and randomness. */
export const systemSurroundings: Surroundings = {
  now: () => Date.now(),
  newId: (prefix) => newId(prefix),
  randomBytes: (size) => randomBytes(size),
};
