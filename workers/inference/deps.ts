import { createCircuitBoard } from '#shared/catalogue/redis/circuits.ts';
import { openProviders } from './providers/providers.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { openCatalogue } from '#shared/process/open-catalogue.ts';
import { openTraces } from '#shared/process/traces/open-traces.ts';
import { openSeals } from '#shared/lanes/files/lane-keys.ts';
import { createRegionStatusStore } from '#shared/catalogue/redis/region-status.ts';
import { createServingBoard, readServing } from '#shared/catalogue/redis/serving.ts';
import { createHandOn } from '#shared/lanes/redis/hand-on.ts';
import { defineLaneScripts } from '#shared/lanes/redis/scripts.ts';
import { ServingKeeper } from './serving-keeper.ts';
import { inferenceLane, regionOfLane } from '#shared/lanes/keys.ts';
import type { Cancellation, Taken } from '#shared/lanes/messages.ts';
import { LaneConnections } from '#workers/runtime/lane-connections.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { CircuitKeeper } from './circuit-keeper.ts';
import { AnswerRoom } from './answer-room.ts';
import { Elsewhere } from './elsewhere.ts';
import { LargeBodies } from './large-bodies.ts';
import { countUsed } from './usage.ts';
import { Breakers } from './breakers.ts';
import { inferenceEvents, showAnswerRoom, showStreams } from './events.ts';
import { openStreamBounds } from './stream-bounds.ts';
import { InferenceWorker } from './worker.ts';

/** As large as one answer may be at the most; a worker holds each two or three times on its way. */
const ANSWER_BYTES_IN_HAND = 128 * 1024 * 1024;

/** Composes an inference worker: its lanes, its inbox for cancellations, its upstreams. */
export async function inferenceProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const traces = await openTraces(context, 'inference');
  const events = inferenceEvents(log, registry, traces);
  const catalogue = openCatalogue(config, log);
  const seals = openSeals(config.laneKeysDir, events.storeFailed);
  const lanes = new LaneConnections<Cancellation | Taken>(
    context,
    seals,
    config.inferenceConcurrency,
    events.storeFailed,
  );
  const { client, outbox, slots } = lanes;
  const providers = openProviders(config.upstreamCredential);
  const breakers = new Breakers((endpoint, region, open) => {
    events.breakerChanged(endpoint, region, open);
    circuits.publish();
  });
  const circuits = new CircuitKeeper({
    breakers,
    board: createCircuitBoard(client, processId),
    catalogue: () => catalogue.current().catalogue,
    providerOf: providers.of,
    now: Date.now,
    onError: events.storeFailed,
  });
  const serving = new ServingKeeper({
    regions: regionsOf(config, catalogue.current().catalogue.regions),
    slots: config.inferenceConcurrency,
    board: createServingBoard(client, processId),
    onError: events.storeFailed,
  });
  const answerRoom = new AnswerRoom(ANSWER_BYTES_IN_HAND);
  const streams = openStreamBounds(() => outbox.whenRoom());
  showAnswerRoom(registry, answerRoom);
  showStreams(registry, streams);
  const elsewhere = new Elsewhere({
    handOn: createHandOn(defineLaneScripts(client), config.shards, seals),
    served: () => readServing(client),
    statuses: createRegionStatusStore(client).list,
    catalogue: () => catalogue.current().catalogue,
    onError: events.storeFailed,
  });
  const bodies = new LargeBodies();
  const tokens = createTokenCounter();
  const worker = new InferenceWorker(
    {
      outbox,
      client,
      seals,
      events,
      elsewhere,
      isTraced: traces !== undefined,
      finished: (lane) => serving.finished(regionOfLane(lane)),
      breakers,
      answerRoom,
      streams,
      catalogue: () => catalogue.current().catalogue,
      providerOf: providers.of,
      bodies,
      countUsage: bodies.counting(
        (model) => catalogue.current().catalogue.models.find(({ id }) => id === model)?.tokenizer,
        (asked, ...rest) => countUsed(tokens, asked, ...rest),
      ),
      now: Date.now,
    },
    slots,
  );
  lanes.consume({
    lanes: lanesOf(config, catalogue.current().catalogue.regions),
    catalogueDigest: () => catalogue.current().catalogue.digest,
    batchMax: config.inferenceConcurrency,
    onDeliveries: (deliveries) => worker.take(deliveries),
    onMessage: (message) => worker.hear(message),
  });
  return {
    readiness: lanes.readiness,
    start: async () => {
      await lanes.start();
      circuits.start();
      await serving.start();
    },
    drain: async () => {
      await serving.stop();
      await lanes.drain();
    },
    close: async () => {
      await circuits.stop();
      await lanes.close();
      await providers.close();
      await bodies.close();
      await traces?.stop();
    },
    reload: catalogue.reload,
  };
}

type Served = { regions: readonly string[]; shards: number };
type Offered = readonly { code: string; status: string }[];

/** The regions this worker serves. */
function regionsOf({ regions }: Served, offered: Offered): string[] {
  const served = offered.filter(({ code }) => regions.length === 0 || regions.includes(code));
  const unknown = regions.filter((code) => !offered.some((region) => region.code === code));
  if (unknown.length > 0)
    throw new Error(`REGIONS names what the catalogue does not: ${unknown.join(', ')}`);
  return served.map(({ code }) => code);
}

/** Their lanes, in every shard. */
function lanesOf(config: Served, offered: Offered): string[] {
  return regionsOf(config, offered).flatMap((code) =>
    Array.from({ length: config.shards }, (_, shard) => inferenceLane(shard, code)),
  );
}
