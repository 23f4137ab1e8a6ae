import type { Id, IdPrefix } from './ids.ts';

/** The three things that no pure function can have. Tests put their own in. */
export interface Surroundings {
  /** Epoch milliseconds. */
  now(): number;
  newId<P extends IdPrefix>(prefix: P): Id<P>;
  /** `size` bytes (at most 64) from a cryptographic source. */
  randomBytes(size: number): Uint8Array;
}
