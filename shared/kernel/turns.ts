import { afterOthers } from '#primitives';

const waiting: (() => void)[] = [];

/**
 * Resolves when it is this work's turn. Long work in one process takes turns through this: however much of it waits, only
 * one slice of it runs in each round of the event loop, so everything else waits for one slice and not for all of them.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) afterOthers(giveTurn);
  });
}

function giveTurn(): void {
  waiting.shift()!();
  if (waiting.length > 0) afterOthers(giveTurn);
}

/** Each pass over more than this takes about a millisecond or longer. */
export const LONG = 1_048_576;

/** Before a pass over something of this length: waits for a turn where it is long. */
export async function turnFor(length: number): Promise<void> {
  if (length > LONG) await nextTurn();
}

/** Runs work that yields between its slices, each in a turn of its own. */
export async function inTurns<T>(work: Iterator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await nextTurn();
  }
}
