/** What a program hears that has things to tidy up before it ends. */
export interface Stopping {
  /** Aborted once the program was told to end: programs that it started are ended by it. */
  signal: AbortSignal;
  /** Rejects then, and never resolves: what is raced against it is left for the tidying up. */
  stopped: Promise<never>;
}

/** SIGINT and SIGTERM no longer end the program, however often they come: npm sends again what the terminal sent already. */
export function untilStopped(): Stopping {
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      controller.abort();
      reject(new Error(`stopped by ${name}`));
    });
  }
  return { signal: controller.signal, stopped: promise };
}
