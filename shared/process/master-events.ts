import type { Logger } from 'pino';
import type { MasterChange } from '#shared/lanes/redis/following-cluster.ts';
import type { ServerChange } from '#shared/lanes/redis/server-watch.ts';

/** One line when a master of a Redis Cluster is lost, and one when another is known or it is back. */
export function masterEvents(log: Pick<Logger, 'info' | 'warn'>): (change: MasterChange) => void {
  return ({ kind, node }) => {
    if (kind === 'lost') log.warn({ event: 'redis_master_lost', node });
    else log.info({ event: 'redis_master_found', node });
  };
}

/** One line when the server of this process takes no writes any more, and one when there is one that does. */
export function serverEvents(log: Pick<Logger, 'info' | 'warn'>): (change: ServerChange) => void {
  return (change) => {
    if (change.kind === 'lost') log.warn({ event: 'redis_server_lost', why: change.why });
    else log.info({ event: `redis_server_${change.kind}` });
  };
}
