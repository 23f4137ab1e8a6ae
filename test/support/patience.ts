/**
 * In place of `shared/kernel/patience.ts` where the condition `docket-test` holds: tests run beside others, and an answer
 * that a starved machine gives late is not another answer. What the product promises in seconds is held as it is shipped.
 */
export const PATIENCE = 8;

/** Persons sign in a thousand times in a run, and each of these guesses would take 60 ms. */
export const GUESSES_FOR_ONE = 16;
