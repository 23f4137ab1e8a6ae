/** How often a ledger worker does each of its steps. Between them they keep the maximum merge delay of ten seconds. */

/** Between batches while nothing waits: a receipt waits half of this on average. */
export const IDLE_MS = 250;
/** So long after the last receipt, or after the last word that there are some, others are looked for so often. */
export const AWAKE_MS = 5_000;
/** Between looks after that: a fifth of the maximum merge delay, for receipts of which no word came. */
export const ASLEEP_MS = 2_000;
/** After a failure: a store that is away is asked at this pace. */
export const RETRY_MS = 1_000;
/** A log's checkpoints are at least this far apart. */
export const CHECKPOINT_MS = 1_000;
/** Between looks at which logs grew, while this process lets them grow: it divides the interval of checkpoints evenly. */
export const PUBLISH_MS = 250;
/** Between two portions of a log whose sums are made anew; nothing else waits for them. */
export const SUM_UP_MS = 250;
/** Between looks for such a log while there is none: it is one that an operator has set back. */
export const SUMMED_UP_MS = 10_000;
/** Between looks at the backlog: half the maximum merge delay, so that exceeding it is noticed. */
export const BACKLOG_MS = 5_000;
/** Heads trees of the anchor log are at least this far apart: the epoch. */
export const EPOCH_MS = 10_000;
/** Between looks at what is to be anchored after logs have grown: heads are in every tenth look. */
export const ANCHOR_MS = 1_000;
/** So long after this worker has signed a head it looks so often: until the epoch is over in which that is anchored. */
export const ANCHOR_AWAKE_MS = EPOCH_MS + 2 * ANCHOR_MS;
/** Between looks after that, as far apart as epochs: for events of keys, and for heads that others have signed. */
export const ANCHOR_ASLEEP_MS = 10_000;
/** Between looks at which audit logs have grown: as far apart as heads trees, which hold what was signed then. */
export const AUDIT_MS = 10_000;
/** Between looks at who is to be asked for an attestation. */
export const ATTEST_MS = 1_000;
