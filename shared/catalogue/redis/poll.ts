import { everySecond } from '#shared/kernel/every-second.ts';

/** A value of Redis as this process last read it. */
export interface Polled<T> {
  /** Reads it for the first time; resolves also when Redis is away. */
  start(): Promise<void>;
  /** Never waits, never throws. The old value stays while it cannot be read. */
  current(): T;
  stop(): Promise<void>;
}

/**
 * Reads a value once a second: settings made at run time are in force everywhere within that time. Asking is one small
 * command per process and second; a subscription would need a connection of its own, and asking as well, for notices that
 * are lost. `onError` hears of reads that fail.
 */
export function poll<T>(
  read: () => Promise<T>,
  initial: T,
  onError: (error: Error) => void,
): Polled<T> {
  let value = initial;
  let reading: Promise<void> | undefined;
  let end = (): void => {};
  const look = async (): Promise<void> => {
    try {
      value = await read();
    } catch (error) {
      onError(error as Error);
    }
    reading = undefined;
  };
  return {
    start() {
      end = everySecond(() => {
        reading ??= look();
      });
      return (reading = look());
    },
    current: () => value,
    async stop() {
      end();
      await reading;
    },
  };
}
