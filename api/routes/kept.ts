/**
 * Reads a value at most once in so many milliseconds, however often it is asked for; who asks while it is being read waits
 * for the same. A read that fails is not kept, nor a value that `isKept` refuses.
 */
export function keptFor<T>(
  ms: number,
  read: () => Promise<T>,
  isKept: (value: T) => boolean = () => true,
  now: () => number = () => performance.now(),
): () => Promise<T> {
  let kept: Promise<T> | undefined;
  let readAt = 0;
  return () => {
    if (kept !== undefined && now() - readAt < ms) return kept;
    readAt = now();
    const reading = read();
    kept = reading;
    const forget = (): void => {
      if (kept === reading) kept = undefined;
    };
    reading.then((value) => (isKept(value) ? undefined : forget()), forget);
    return reading;
  };
}

/**
 * Reads a value for all who asked before the read began: none of them is told what had changed when they asked, and many
 * who wait cost one read. `askedAt` is by the same clock as `now`. A read that fails is not kept.
 */
export function keptSince<T>(
  read: () => Promise<T>,
  now: () => number = () => performance.now(),
): (askedAt: number) => Promise<T> {
  let kept: Promise<T> | undefined;
  let readAt = 0;
  return (askedAt) => {
    if (kept !== undefined && askedAt < readAt) return kept;
    readAt = now();
    const reading = read();
    kept = reading;
    reading.catch(() => {
      if (kept === reading) kept = undefined;
    });
    return reading;
  };
}
