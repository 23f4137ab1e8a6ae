import { afterOthers } from '#primitives';

/**
 * Makes a value when it is first asked for, and gives the same one from then on. What fails is made again for the next who
 * asks: a cause may pass, and a process would otherwise answer with the failure for as long as it lives. Those who wait for
 * it go on one after the other, each in a turn of the event loop: what hundreds do with it at once would hold up all others.
 */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  let isMade = false;
  let last: Promise<void> = Promise.resolve();
  return async () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    if (isMade) return made;
    const value = await made;
    isMade = true;
    last = last.then(() => new Promise(afterOthers));
    await last;
    return value;
  };
}
