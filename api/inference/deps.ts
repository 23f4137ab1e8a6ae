import type { Pool } from 'pg';
import { createStoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { watchCircuits } from '#shared/catalogue/redis/circuits.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { checkDurability } from '#shared/lanes/redis/durability.ts';
import { watchRegionStatus } from '#shared/catalogue/redis/region-status.ts';
import { randomBytesFromPool } from '#shared/kernel/system/new-id.ts';
import { Admissions } from '#shared/lanes/redis/admission.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import { receiptsLane } from '#shared/lanes/keys.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ApiEvents } from '#api/events.ts';
import { Dispatcher } from './dispatcher.ts';
import type { PrepareDeps } from './prepare.ts';
import { refuse, type RefuseDeps } from './refuse.ts';

/** The api's side of the pipeline: admission, the inbox, and what is known of regions. */
export function openPipeline(context: ProcessContext, pool: Pool, events: ApiEvents) {
  const { config, processId } = context;
  const connect = (use: 'interactive' | 'patient' | 'blocking') =>
    connectRedis({ url: config.secrets.redisUrl, name: processId, use }, events.storeFailed);
  const client = connect('interactive');
  const steady = connect('patient');
  const regions = watchRegionStatus(steady, events.storeFailed);
  const circuits = watchCircuits(steady, events.storeFailed);
  const scripts = defineLaneScripts(client);
  const dispatcher = new Dispatcher({
    admissions: new Admissions(scripts, config.shards),
    scripts,
    client,
    largeAnswers: createStoredAnswers(pool),
    processId,
    receiptWaitMs: config.receiptWaitMs,
    onError: events.storeFailed,
  });
  const inbox = new Inbox<Reply>(
    connect('blocking'),
    processId,
    dispatcher.take,
    events.storeFailed,
  );
  const liveness = new Liveness(steady, processId, () => inbox.lastRead);
  const refusals: RefuseDeps = {
    hand: async (shard, entry) => {
      await client.xadd(receiptsLane(shard), '*', 'e', encodeMessage(entry));
    },
    supportEmail: config.supportEmail,
    now: Date.now,
    onError: events.storeFailed,
  };
  const prepare: Omit<PrepareDeps, 'index'> = {
    health: () => ({ states: regions.current(), openCircuits: circuits.current() }),
    newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
    processId,
    shardOf: (orgId) => dispatcher.shardOf(orgId),
  };
  return {
    dispatcher,
    prepare,
    refuse: (prepared: Parameters<typeof refuse>[1], verdict: Parameters<typeof refuse>[2]) =>
      refuse(refusals, prepared, verdict),
    ping: () => steady.ping(),
    /** @throws VolatileRedis when Redis would lose what is promised, unless that is allowed. */
    start: async (): Promise<void> => {
      if (!config.allowVolatileRedis) await checkDurability(steady);
      await Promise.all([liveness.start(), regions.start(), circuits.start()]);
      inbox.start();
      dispatcher.start();
    },
    close: async (): Promise<void> => {
      await inbox.stop();
      await liveness.stop();
      await Promise.all([regions.stop(), circuits.stop()]);
      client.disconnect();
      steady.disconnect();
    },
  };
}
