import type { Logger } from 'pino';
import type { MasterChange } from '#shared/lanes/redis/following-cluster.ts';

/** One line when a master of a Redis Cluster is lost, and one when another is known or it is back. */
export function masterEvents(log: Pick<Logger, 'info' | 'warn'>): (change: MasterChange) => void {
  return ({ kind, node }) => {
    if (kind === 'lost') log.warn({ event: 'redis_master_lost', node });
    else log.info({ event: 'redis_master_found', node });
  };
}
