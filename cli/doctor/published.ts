import { compareSizes, shortfall } from '#cli/fsck/published.ts';
import { withRedis } from '#cli/redis.ts';
import type { PoolOptions } from '#shared/kernel/postgres/pool.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { allRemembered } from '#shared/ledger/redis/checkpoint-memory.ts';
import { type Finding, ok, problem, skipped } from './finding.ts';
import { openPool } from './postgres.ts';

const NAME = 'published logs';
/** Logs that are named; where a database was put back, most of those in use are behind. */
const NAMED_MAX = 20;

/** Whether PostgreSQL has all that Redis and the anchor log know as published. Compares sizes; fsck compares roots too. */
export async function examinePublishedLogs(
  url: string,
  pooler: PoolOptions['pooler'],
): Promise<Finding> {
  const pool = openPool(url, pooler);
  try {
    const remembered = await withRedis(allRemembered);
    const logs = await compareSizes(pool, remembered);
    const behind = logs.flatMap((log) => {
      const missing = shortfall(log);
      return missing === null ? [] : [`${log.logId}: ${missing}`];
    });
    if (behind.length === 0) return ok(NAME, `${remembered.size} remembered, none is behind`);
    const more = behind.length > NAMED_MAX ? `; and ${behind.length - NAMED_MAX} more` : '';
    return problem(
      NAME,
      behind.slice(0, NAMED_MAX).join('; ') + more,
      'let no traffic in; bring the newer database back, or declare the loss: docs/operations.md, A halted log',
    );
  } catch (error) {
    return skipped(NAME, `cannot be compared: ${reasonOf(error)}`);
  } finally {
    await pool.end();
  }
}
