import { invalidParam, type Fault } from './errors.ts';

/** One page of a list, and whether there is more behind it. */
export interface Page<T> {
  items: readonly T[];
  hasMore: boolean;
}

/** Where a page of a list begins, how long it is, and which way it runs. */
export interface PageRequest {
  /** The id of the item that the page before ended with; the list's beginning when absent. */
  after?: string;
  /** 1..100 */
  limit: number;
  order: 'asc' | 'desc';
}

/** The refusal of an `after` that names nothing in the list. `resource` is what the list holds. */
export function unknownCursor(resource: string): Fault {
  return invalidParam('after', `There is no such ${resource} to continue after.`);
}
