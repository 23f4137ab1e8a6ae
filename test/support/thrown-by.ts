/**
 * The error of this kind that an act throws; undefined where it throws none.
 * @throws every other error of the act
 */
export function thrownBy<E extends Error>(
  kind: new (...args: never[]) => E,
  act: () => unknown,
): E | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    if (error instanceof kind) return error;
    throw error;
  }
}
