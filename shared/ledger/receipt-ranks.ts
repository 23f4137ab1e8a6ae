/** What receipts are ranked by, besides their time. */
export const RANKED_BY = ['energy', 'gwp', 'tokens'] as const;
export type RankedBy = (typeof RANKED_BY)[number];

/**
 * Receipts among which the largest are looked for, newest first: no index has them in this order. Read from the index of the
 * list, which takes some tens of milliseconds.
 */
export const RANKED_AMONG_MAX = 10_000;
