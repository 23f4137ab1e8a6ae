import { createPool } from '../../shared/adapters/postgres/pool.ts';
import { PostgresReceiptStore } from '../../shared/adapters/postgres/receipt-store.ts';
import { connectRedis } from '../../shared/adapters/redis/connect.ts';
import { checkDurability } from '../../shared/adapters/redis/durability.ts';
import { currentKeys } from '../../shared/adapters/signing/current-keys.ts';
import { activeKey } from '../../shared/adapters/signing/key-files.ts';
import { createReceiptSigner } from '../../shared/adapters/signing/signer.ts';
import { receiptIssuer } from '../../shared/domain/receipt/issuer.ts';
import { settleClaim } from '../../shared/lanes/claims.ts';
import { Inbox } from '../../shared/lanes/inbox.ts';
import { receiptsLane } from '../../shared/lanes/keys.ts';
import { LaneConsumer } from '../../shared/lanes/lane-consumer.ts';
import { Liveness } from '../../shared/lanes/liveness.ts';
import { Outbox } from '../../shared/lanes/outbox.ts';
import { defineLaneScripts } from '../../shared/lanes/scripts.ts';
import { Slots } from '../../shared/lanes/slots.ts';
import { openCatalogue } from '../../shared/process/open-catalogue.ts';
import { loadMethodologies } from '../../shared/methodology/methodologies.ts';
import type { ProcessContext, ProcessParts } from '../../shared/process/run-process.ts';
import { receiptsEvents } from './events.ts';
import { ReceiptsWorker } from './worker.ts';

/** Batches in hand at once: while one is being committed, the next is signed. */
const BATCHES = 3;

/** Composes a receipts worker: its lanes, the methodology, the signing key, PostgreSQL. */
export async function receiptsProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const events = receiptsEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const methodology = loadMethodologies().current;
  const issuer = receiptIssuer(config.publicUrl);
  const signer = currentKeys(
    config.signingKeysDir,
    (keys) => {
      const { privateKeyPem } = activeKey(keys, 'receipts');
      return createReceiptSigner({ privateKeyPem, did: issuer.did });
    },
    events.signingKeysUnreadable,
  );
  const pool = createPool({
    url: config.secrets.databaseUrl,
    role: 'docket_receipts',
    max: BATCHES + 1,
    applicationName: 'docket receipts',
    statementTimeoutMs: config.statementTimeoutMs,
    onError: (error) => events.commitFailed(0, error),
  });
  const connect = (use: 'patient' | 'blocking') =>
    connectRedis({ url: config.secrets.redisUrl, name: processId, use }, events.storeFailed);
  const client = connect('patient');
  const writer = connect('patient');
  const scripts = defineLaneScripts(client);
  const outbox = new Outbox(writer, events.storeFailed);
  const slots = new Slots(config.receiptsBatchMax * BATCHES);
  const worker = new ReceiptsWorker(
    {
      issuer,
      outbox,
      events,
      signer,
      estimate: methodology.estimate,
      catalogue: () => catalogue.current().catalogue,
      store: new PostgresReceiptStore(pool),
      settleClaim: (claim, requestId, receipt) => settleClaim(scripts, claim, requestId, receipt),
      now: Date.now,
    },
    slots,
  );
  // Nobody writes to a receipts worker; its inbox only goes with being alive.
  const inbox = new Inbox<object>(connect('blocking'), processId, () => {}, events.storeFailed);
  const liveness = new Liveness(client, processId, () => inbox.lastRead);
  const consumers = Array.from({ length: config.shards }, (_, shard) => {
    return new LaneConsumer({
      lane: receiptsLane(shard),
      consumer: processId,
      slots,
      batchMax: config.receiptsBatchMax,
      blocking: connect('blocking'),
      client,
      scripts,
      onEntries: (entries) => worker.take(entries),
      onError: events.storeFailed,
    });
  });
  return {
    readiness: {
      redis: () => client.ping(),
      postgres: () => pool.query('SELECT FROM receipt_pending LIMIT 0'),
    },
    async start() {
      if (!config.allowVolatileRedis) await checkDurability(client);
      await liveness.start();
      await Promise.all(consumers.map((consumer) => consumer.start()));
    },
    async drain() {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
      await slots.whenIdle();
      await outbox.flushed();
      await Promise.all(consumers.map((consumer) => consumer.leave()));
    },
    async close() {
      worker.stop();
      outbox.close();
      await inbox.stop();
      await liveness.stop();
      client.disconnect();
      writer.disconnect();
      await pool.end();
    },
    reload: () => catalogue.reload(),
  };
}
