/**
 * What a test file has started and opened, to be undone after its last test. Files share a process, so a module of
 * `test/support` is evaluated once for several of them: it registers each thing when it is made, not a hook of its own.
 */
type Step = () => unknown;

const steps: Step[] = [];

/** Undoes something after the file's last test, in the reverse order of these calls, also when it is made within a test. */
export function atFileEnd(step: Step): void {
  steps.push(step);
}

/**
 * Undoes everything of the file.
 * @throws AggregateError of what could not be undone; the rest is undone all the same.
 */
export async function endFile(): Promise<void> {
  const errors: unknown[] = [];
  for (const step of steps.splice(0).toReversed()) {
    try {
      await step();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, 'The file could not be cleaned up.');
}
