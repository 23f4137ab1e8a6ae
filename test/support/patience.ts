/**
 * In place of `shared/kernel/patience.ts` where the condition `docket-test` holds: tests run beside others, and an answer
 * that a starved machine gives late is not another answer. What the product promises in seconds is held as it is shipped.
 */
export const PATIENCE = 8;

/** Persons sign in a thousand times in a run, and each time would take 60 ms of a processor. */
export const PASSWORD_WORK_DIVISOR = 16;

/** A pack of several parts is one of thousands of receipts, and takes seconds. */
export const PART_BYTES_DIVISOR = 16;
