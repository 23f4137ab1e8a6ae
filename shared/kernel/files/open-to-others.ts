import type { Stats } from 'node:fs';

/** Bits by which others than the owner may do anything, and those bits but that the group may read. */
const OF_OTHERS = 0o077;
const BUT_READ_BY_GROUP = 0o037;

/**
 * Whether users other than that of this process may read a file of secrets, or change it. Orchestrators mount secrets as
 * files of root that a group of the process alone may read; those are private, as they are to PostgreSQL.
 */
export function isOpenToOthers(
  { mode, uid }: Pick<Stats, 'mode' | 'uid'>,
  own: number = process.getuid?.() ?? uid,
): boolean {
  return (mode & (uid === 0 && own !== 0 ? BUT_READ_BY_GROUP : OF_OTHERS)) !== 0;
}
