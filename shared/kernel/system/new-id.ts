import { randomFillSync } from 'node:crypto';
import { encodeUlid, type Id, type IdPrefix } from '../ids.ts';

/** Random bytes are drawn a page at a time: one system call then serves about 400 ids. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** `size` fresh random bytes (at most 64). The caller must copy what it keeps. */
export function randomBytesFromPool(size: number): Uint8Array {
  if (used + size > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += size;
  return pool.subarray(used - size, used);
}

/** A fresh id at `nowMs` (epoch milliseconds). */
export function newId<P extends IdPrefix>(prefix: P, nowMs: number = Date.now()): Id<P> {
  return `${prefix}_${encodeUlid(nowMs, randomBytesFromPool(10))}`;
}
