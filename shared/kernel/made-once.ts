/**
 * Makes a value when it is first asked for, and gives the same one from then on. What fails is made again for the next who
 * asks: a cause may pass, and a process would otherwise answer with the failure for as long as it lives.
 */
export function madeOnce<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}
