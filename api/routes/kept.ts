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
