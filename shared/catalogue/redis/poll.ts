/**
 * Settings made at run time are in force everywhere within a second. Asking is one small command per process and
 * second; a subscription would need a connection of its own, and asking as well, for notices that are lost.
 */
const PERIOD_MS = 1_000;

/** A value of Redis as this process last read it. */
export interface Polled<T> {
  /** Reads it for the first time; resolves also when Redis is away. */
  start(): Promise<void>;
  /** Never waits, never throws. The old value stays while it cannot be read. */
  current(): T;
  stop(): Promise<void>;
}

/** Reads a value once a second. `onError` hears of reads that fail. */
export function poll<T>(
  read: () => Promise<T>,
  initial: T,
  onError: (error: Error) => void,
): Polled<T> {
  let value = initial;
  let timer: NodeJS.Timeout | undefined;
  let reading: Promise<void> = Promise.resolve();
  let stopped = false;
  const look = async (): Promise<void> => {
    try {
      value = await read();
    } catch (error) {
      onError(error as Error);
    }
    if (stopped) return;
    timer = setTimeout(() => {
      reading = look();
    }, PERIOD_MS);
    timer.unref();
  };
  return {
    start: () => (reading = look()),
    current: () => value,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await reading;
    },
  };
}
