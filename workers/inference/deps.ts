import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { createCircuitBoard } from '../../shared/adapters/redis/circuits.ts';
import { checkDurability } from '../../shared/adapters/redis/durability.ts';
import { OpenAiCompatibleProvider } from '../../shared/adapters/providers/openai-compatible/provider.ts';
import { createTokenCounter } from '../../shared/adapters/tokenizer/counter.ts';
import { openCatalogue } from '../../shared/process/open-catalogue.ts';
import type { Endpoint } from '../../shared/domain/catalogue.ts';
import { freeClaim } from '../../shared/lanes/claims.ts';
import { Inbox } from '../../shared/lanes/inbox.ts';
import { inferenceLane } from '../../shared/lanes/keys.ts';
import { LaneConsumer } from '../../shared/lanes/lane-consumer.ts';
import { Liveness } from '../../shared/lanes/liveness.ts';
import type { Cancellation } from '../../shared/lanes/messages.ts';
import { Outbox } from '../../shared/lanes/outbox.ts';
import { defineLaneScripts } from '../../shared/lanes/scripts.ts';
import { Slots } from '../../shared/lanes/slots.ts';
import type { Provider } from '../../shared/ports/provider.ts';
import type { ProcessContext, ProcessParts } from '../../shared/process/run-process.ts';
import { CircuitKeeper } from './circuit-keeper.ts';
import { usageCounter } from './count-usage.ts';
import { Breakers } from './endpoints.ts';
import { inferenceEvents } from './events.ts';
import { InferenceWorker } from './worker.ts';

/** Composes an inference worker: its lanes, its inbox for cancellations, its upstreams. */
export async function inferenceProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = inferenceEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const connect = (use: 'patient' | 'blocking') =>
    connectRedis({ url: config.secrets.redisUrl, name: processId, use }, events.storeFailed);
  const client = connect('patient');
  const writer = connect('patient');
  const scripts = defineLaneScripts(client);
  const outbox = new Outbox(writer, events.storeFailed);
  const slots = new Slots(config.inferenceConcurrency);
  const provider = new OpenAiCompatibleProvider(config.upstreamCredential);
  const providerOf = (_endpoint: Endpoint): Provider => provider;
  const breakers = new Breakers((endpoint, region, open) => {
    events.breakerChanged(endpoint, region, open);
    circuits.publish();
  });
  const circuits = new CircuitKeeper({
    breakers,
    board: createCircuitBoard(client, processId),
    catalogue: () => catalogue.current().catalogue,
    providerOf,
    now: Date.now,
    onError: events.storeFailed,
  });
  const worker = new InferenceWorker(
    {
      outbox,
      client,
      events,
      breakers,
      catalogue: () => catalogue.current().catalogue,
      providerOf,
      countUsage: usageCounter(createTokenCounter(), () => catalogue.current().catalogue),
      freeClaim: (claim, requestId) => freeClaim(scripts, claim, requestId),
      now: Date.now,
    },
    slots,
  );
  const cancellations = new Inbox<Cancellation | { kind: 'hello' }>(
    connect('blocking'),
    processId,
    (message) => (message.kind === 'cancel' ? worker.cancel(message) : undefined),
    events.storeFailed,
  );
  const liveness = new Liveness(client, processId, () => cancellations.lastRead);
  const consumers = lanesOf(config, catalogue.current().catalogue.regions).map(
    (lane) =>
      new LaneConsumer({
        lane,
        consumer: processId,
        slots,
        batchMax: config.inferenceConcurrency,
        blocking: connect('blocking'),
        client,
        scripts,
        onEntries: (entries) => worker.take(entries),
        onError: events.storeFailed,
      }),
  );
  return {
    readiness: { redis: () => client.ping() },
    async start() {
      if (!config.allowVolatileRedis) await checkDurability(client);
      await liveness.start();
      cancellations.start();
      circuits.start();
      await Promise.all(consumers.map((consumer) => consumer.start()));
    },
    async drain() {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await slots.whenIdle();
      await outbox.flushed();
      await Promise.all(consumers.map((consumer) => consumer.leave()));
    },
    async close() {
      outbox.close();
      await circuits.stop();
      await cancellations.stop();
      await liveness.stop();
      await provider.close();
      client.disconnect();
      writer.disconnect();
    },
    reload: () => catalogue.reload(),
  };
}

/** The lanes of the regions this worker serves, in every shard. */
function lanesOf(
  { regions, shards }: { regions: readonly string[]; shards: number },
  offered: readonly { code: string; status: string }[],
): string[] {
  const served = offered.filter(({ code }) => regions.length === 0 || regions.includes(code));
  const unknown = regions.filter((code) => !offered.some((region) => region.code === code));
  if (unknown.length > 0)
    throw new Error(`REGIONS names what the catalogue does not: ${unknown.join(', ')}`);
  return served.flatMap(({ code }) =>
    Array.from({ length: shards }, (_, shard) => inferenceLane(shard, code)),
  );
}
