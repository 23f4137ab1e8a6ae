/** One page of a list, and whether there is more behind it. */
export interface Page<T> {
  items: readonly T[];
  hasMore: boolean;
}

/** Where a page of a list begins, how long it is, and which way it runs. */
export interface PageRequest {
  /** The id of the item that the page before ended with; the list's beginning when absent. */
  after?: string | undefined;
  /** 1..100 */
  limit: number;
  order: 'asc' | 'desc';
}
