/**
 * How many times longer than its constants say the product waits for a store or another process before it gives up. One,
 * always: only its own tests, on a machine that they share, resolve `#patience` to another file than this, which is not
 * shipped.
 */
export const PATIENCE = 1;

/** By what the work of a guess at a password is divided. One, always, in the same way. */
export const PASSWORD_WORK_DIVISOR = 1;

/** By what the smallest part of an upload is divided. One, always, in the same way. */
export const PART_BYTES_DIVISOR = 1;
