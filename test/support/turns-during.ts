/** Does work; says what it came to, and how many turns of the event loop others had meanwhile. */
export async function turnsDuring<T>(
  work: () => Promise<T>,
): Promise<{ result: T; turns: number }> {
  let turns = 0;
  let next: NodeJS.Immediate;
  const other = (): void => {
    turns += 1;
    next = setImmediate(other);
  };
  next = setImmediate(other);
  try {
    const result = await work();
    return { result, turns };
  } finally {
    clearImmediate(next);
  }
}
