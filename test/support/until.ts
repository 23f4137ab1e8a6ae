/** Far above anything a healthy test waits for; a test that hits it has found something. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 10;

/** Waits until a condition holds. Throws after a minute, or as long as is said, with `what` in the message. */
export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string = condition.toString(),
  patienceMs = PATIENCE_MS,
): Promise<void> {
  const end = Date.now() + patienceMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
