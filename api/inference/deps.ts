import type { Pool } from 'pg';
import { watchCircuits } from '#shared/catalogue/redis/circuits.ts';
import {
  createRegionStatusStore,
  watchRegionStatus,
} from '#shared/catalogue/redis/region-status.ts';
import type { Config } from '#shared/config/config.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { randomBytesFromPool } from '#shared/kernel/system/new-id.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import { createKeptResponses } from '#shared/lanes/postgres/kept-responses.ts';
import { createStoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { SealProblem } from '#shared/lanes/seals.ts';
import { Buckets } from '#shared/lanes/redis/buckets.ts';
import { Admissions } from '#shared/lanes/redis/admission.ts';
import { readClaim, readStanding } from '#shared/lanes/redis/claims.ts';
import { readLaneDepths } from '#shared/lanes/redis/depths.ts';
import { inferenceLane, receiptsLane } from '#shared/lanes/keys.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { BudgetCounters } from '#shared/lanes/redis/budget-counters.ts';
import { checkDurability } from '#shared/lanes/redis/durability.ts';
import { Inbox } from '#shared/lanes/redis/inbox.ts';
import { Liveness } from '#shared/lanes/redis/liveness.ts';
import { ReplyListener } from '#shared/lanes/sockets/reply-listener.ts';
import { openSeals } from '#shared/lanes/files/lane-keys.ts';
import { RedisClocks } from '#shared/lanes/redis/redis-clock.ts';
import { createPendingReceipts } from '#shared/lanes/redis/pending-receipts.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { readPeers } from '#shared/lanes/redis/peers.ts';
import { keepPeers } from '#shared/process/keep-peers.ts';
import { masterEvents } from '#shared/process/master-events.ts';
import type { OpenCatalogue } from '#shared/process/open-catalogue.ts';
import type { ProcessContext } from '#shared/process/run-process.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import type { Moderator } from '#shared/screening/http/moderation.ts';
import type { ApiEvents } from '#api/events.ts';
import { MemoryRates } from '#api/plugins/memory-rates.ts';
import { inTurns } from './admit/budgets.ts';
import { READ_HERE } from './enter-reader.ts';
import type { InferenceDeps } from './handle.ts';
import { KeptResponses } from './kept/kept-responses.ts';
import { LargeBodies } from './large-bodies.ts';
import { OpenExchanges } from './exchange/open-exchanges.ts';
import { Replays } from './replays.ts';
import { Trials } from './trials.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';
import { type ServedRegions, watchServing } from '#shared/catalogue/redis/serving.ts';
import { type Room, roomOf } from '#shared/lanes/room.ts';
import type { Region } from '#shared/catalogue/catalogue.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { usedByNow } from '#shared/budgets/postgres/budgets.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';

/** How many requests a process has judged at once by a moderation endpoint, each on a connection of its own. */
const JUDGED_AT_ONCE = 256;
/** A quarter, so that a moderation endpoint that answers slowly to one organisation's texts judges those of others. */
const JUDGED_OF_ONE = JUDGED_AT_ONCE / 4;

export interface InferenceSources {
  pool: Pool;
  /** For kept responses alone. */
  keptPool: Pool;
  catalogue: OpenCatalogue;
  issuer: ReceiptIssuer;
  events: ApiEvents;
  /** Requests are traced, and what is handed on names the span that it belongs to. */
  isTraced: boolean;
}

/** The api's side of the pipeline: the screen, admission, the inbox, and what is known of regions. */
export async function openInference(
  context: ProcessContext,
  { pool, keptPool, catalogue, issuer, events, isTraced }: InferenceSources,
) {
  const { config, log, processId, server } = context;
  const connection = { url: config.secrets.redisUrl, name: processId, server };
  const connect = (use: 'interactive' | 'admission' | 'patient' | 'blocking') =>
    connectRedis({ ...connection, use }, events.storeFailed);
  const client = connect('interactive');
  const admitting = connect('admission');
  const steady = connectRedis(
    { ...connection, use: 'patient', onMaster: masterEvents(log) },
    events.storeFailed,
  );
  const answers = connect('patient');
  const scripts = defineLaneScripts(client);
  const seals = openSeals(config.laneKeysDir, events.storeFailed);
  const receipts = createReceiptStore(pool);
  const storedAnswers = {
    ...createStoredAnswers(pool),
    receiptOf: async (requestId: string) => {
      const id = receiptIdOf(requestId);
      return (await receipts.read([id])).get(id);
    },
  };
  const regions = watchRegionStatus(steady, events.storeFailed);
  const circuits = watchCircuits(steady, events.storeFailed);
  const serving = watchServing(steady, events.storeFailed);
  const trials = new Trials();
  const tokens = createTokenCounter();
  const moderator = await openModerator(config);
  const largeBodies = new LargeBodies({
    processId,
    shards: config.shards,
    isModerated: moderator !== undefined,
    onLost: events.readerLost,
  });
  const kept = new KeptResponses({
    store: createKeptResponses(keptPool),
    seals,
    bodyBytesMax: config.bodyBytesMax,
    events,
    now: () => performance.now(),
  });
  const replays = new Replays((claim, whenLarge) =>
    readClaim(client, storedAnswers, seals, claim, whenLarge).catch((error: unknown) => {
      // Its key is no longer there, so the answer is not either.
      if (!(error instanceof SealProblem)) throw error;
      events.storeFailed(error);
      return null;
    }),
  );
  const { receiptWaitMs } = config;
  const clocks = new RedisClocks(steady, config.shards);
  const exchanges = new OpenExchanges({
    client,
    answers,
    scripts,
    seals,
    readStanding: (claim) => readStanding(client, claim),
    inboxReadAt: () => inbox.lastReadAt,
    receiptWaitMs,
    redisNow: (shard) => {
      const us = clocks.of(shard).timeUs(0);
      return us === null ? Date.now() : Math.floor(us / 1_000);
    },
    events,
  });
  const inbox: Inbox<Reply> = new Inbox(
    connect('blocking'),
    processId,
    seals,
    exchanges.take,
    events.storeFailed,
  );
  const listener =
    config.replies === 'direct'
      ? new ReplyListener({
          processId,
          seals,
          onReply: exchanges.take,
          onError: events.storeFailed,
        })
      : undefined;
  const peers = keepPeers(context, steady, () => catalogue.current().catalogue.digest);
  const liveness = new Liveness(steady, processId, {
    lastRead: () => inbox.lastRead,
    clocks,
    address: listener?.address,
  });
  const deps: Omit<InferenceDeps, 'unread'> = {
    index: () => catalogue.current().index,
    health: (orgId) => {
      const { open: openCircuits, reached, ...known } = circuits.current();
      const takeTrial = (name: string): boolean => {
        const [isDue, isAnswering] = [known.trial.has(name), known.answers.has(name)];
        if (orgId === undefined) return false;
        return trials.take(name, { orgId, isDue, answers: isAnswering }, Date.now());
      };
      return { states: regions.current(), openCircuits, takeTrial, reached };
    },
    newSalt: () => Buffer.from(randomBytesFromPool(16)).toString('base64url'),
    processId,
    shards: config.shards,
    screen: loadScreen(),
    tokens,
    moderator,
    isTraced,
    judging: new FairQueue(JUDGED_AT_ONCE, JUDGED_OF_ONE),
    mediaUrls: config.mediaUrls,
    supportEmail: config.supportEmail,
    roomIn: (region) => {
      const room = roomIn(region, serving.current());
      // A worker may have come within the last second; and who is told that there is none can wait for one look.
      return room.region > 0 ? room : serving.refresh().then((now) => roomIn(region, now));
    },
    estimate: shippedMethodologies().current.estimate,
    admissions: new Admissions(defineLaneScripts(admitting), config.shards, seals, {
      clocks,
      budgets: new BudgetCounters(
        scripts,
        inTurns(({ orgId, part }) => usedByNow(pool, { orgId, ...part })),
        { onError: events.storeFailed },
      ),
      onLate: exchanges.withdrawLate,
      onLateRepeat: exchanges.leaveLate,
    }),
    exchanges,
    kept,
    largeBodies,
    readHere: new MemoryRates(READ_HERE),
    readClaim: (claim, orgId) => replays.read(claim, orgId),
    issuer,
    pendingReceipts: createPendingReceipts(client, config.shards),
    events,
    now: Date.now,
  };
  return {
    deps,
    kept,
    /** What operators have set of regions. */
    regionStatuses: createRegionStatusStore(client),
    /** How the regions are served, by what their workers have said in the last seconds. */
    served: () => serving.current(),
    /** How much the lanes of every region, and those of receipts, hold. */
    peers: async () => (await readPeers(client)).living,
    laneDepths: () => readLaneDepths(client, lanesOf(catalogue.current().index, config.shards)),
    buckets: new Buckets(scripts, config.shards),
    /** Rejects when nothing can be written to Redis. */
    writes: () => server.write(steady, processId),
    /** Rejects when this process must not serve beside the others. */
    agrees: () => peers.check(),
    /** @throws Error when Redis would lose what is promised, unless that is allowed. */
    start: async (): Promise<void> => {
      if (!config.allowVolatileRedis) await checkDurability(steady);
      await listener?.start();
      await Promise.all([liveness.start(), regions.start(), circuits.start(), serving.start()]);
      await peers.join();
      inbox.start();
      exchanges.start();
    },
    /** Resolves when every request is answered. */
    drained: async () => {
      await exchanges.drained();
      await kept.drained();
    },
    /** Ends what is still open with an error. */
    stop: () => exchanges.stop(),
    close: async (): Promise<void> => {
      await Promise.all([inbox.stop(), listener?.stop()]);
      await Promise.all([liveness.stop(), peers.leave()]);
      await Promise.all([regions.stop(), circuits.stop(), serving.stop()]);
      await Promise.all([largeBodies.close(), moderator?.close()]);
      client.disconnect();
      admitting.disconnect();
      steady.disconnect();
      answers.disconnect();
    },
  };
}

function lanesOf({ regions }: RoutingIndex, shards: number): string[] {
  return Array.from({ length: shards }, (_, shard) => [
    ...[...regions.keys()].map((code) => inferenceLane(shard, code)),
    receiptsLane(shard),
  ]).flat();
}

function roomIn({ code, capacity, organisations }: Region, served: ServedRegions): Room {
  return roomOf(served.get(code), capacity, organisations?.length === 1);
}

/** The second stage of screening, where one is configured. Its client takes a while to load, and most processes have none. */
async function openModerator(config: Config): Promise<Moderator | undefined> {
  const { moderationUrl, moderationModel, moderationFailMode, moderationTimeoutMs } = config;
  if (moderationUrl === undefined) return undefined;
  const { Moderator } = await import('#shared/screening/http/moderation.ts');
  const { moderationApiKey } = config.secrets;
  return new Moderator({
    baseUrl: moderationUrl,
    model: moderationModel,
    ...(moderationApiKey === undefined ? {} : { apiKey: moderationApiKey }),
    atOnce: JUDGED_AT_ONCE,
    timeoutMs: moderationTimeoutMs,
    failMode: moderationFailMode,
    now: Date.now,
  });
}
