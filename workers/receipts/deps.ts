import { createPool } from '#shared/kernel/postgres/pool.ts';
import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { createOwedNotices } from '#shared/ledger/redis/owed-notices.ts';
import { createStoredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { openSeals } from '#shared/lanes/files/lane-keys.ts';
import { receiptsLane } from '#shared/lanes/keys.ts';
import { openCatalogue } from '#shared/process/open-catalogue.ts';
import { openTraces } from '#shared/process/traces/open-traces.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { LaneConnections } from '#workers/runtime/lane-connections.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { answerPlacer } from './place-answer.ts';
import { readGridHours } from '#shared/methodology/postgres/grid-hours.ts';
import { receiptsEvents } from './events.ts';
import { keepGridHours } from './grid-hours.ts';
import { ReceiptsWorker } from './worker.ts';

/** Batches in hand at once: while one is being committed, the next is signed. With more, each would be smaller. */
const BATCHES = 2;

/** Receipts of requests that began longer ago are issued with the annual factor, and revised. */
const HOURS_KEPT_MS = 2 * DAY_MS;

/** Composes a receipts worker: its lanes, the methodology, the signing key, PostgreSQL. */
export async function receiptsProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry } = context;
  const traces = await openTraces(context, 'receipts');
  const events = receiptsEvents(log, registry, traces);
  const catalogue = openCatalogue(config, log);
  const methodology = shippedMethodologies().current;
  const issuer = receiptIssuer(config.publicUrl);
  const signer = currentReceiptSigner(
    { dir: config.signingKeysDir, agent: signingAgentOf(config), did: issuer.did },
    events.signingKeysUnreadable,
  );
  const pool = createPool({
    url: config.secrets.databaseUrl,
    pooler: config.databasePooler,
    role: 'docket_receipts',
    max: BATCHES + 1,
    applicationName: 'docket receipts',
    statementTimeoutMs: config.statementTimeoutMs,
    keepsPlans: true,
    onError: (error) => events.commitFailed(0, error),
  });
  const hours = keepGridHours(() => {
    const zones = catalogue.current().catalogue.regions.map(({ zone }) => zone);
    const nowMs = Date.now();
    const range = { fromMs: nowMs - HOURS_KEPT_MS, toMs: nowMs + HOURS_KEPT_MS };
    return readGridHours(pool, { zones, ...range, nowMs });
  }, events.storeFailed);
  const seals = openSeals(config.laneKeysDir, events.storeFailed);
  const lanes = new LaneConnections(context, seals, BATCHES, events.storeFailed);
  const { client, outbox, settleClaim, slots } = lanes;
  const worker = new ReceiptsWorker(
    {
      issuer,
      outbox,
      settleClaim,
      batchMax: config.receiptsBatchMax,
      tellLedger: createOwedNotices(client, () => performance.now(), events.storeFailed).give,
      events,
      signer,
      estimate: methodology.estimate,
      catalogue: () => catalogue.current().catalogue,
      gridSignal: (zone, atMs) => hours.current()(zone, atMs),
      store: createReceiptStore(pool),
      placeAnswer: answerPlacer({
        client,
        large: createStoredAnswers(pool),
        now: Date.now,
        onError: events.storeFailed,
      }),
      now: Date.now,
    },
    slots,
  );
  lanes.consume({
    lanes: Array.from({ length: config.shards }, (_, shard) => receiptsLane(shard)),
    catalogueDigest: () => catalogue.current().catalogue.digest,
    batchMax: config.receiptsBatchMax,
    batched: true,
    onDeliveries: (deliveries) => worker.take(deliveries),
    // No process writes to a receipts worker; it has an inbox because every living process has one.
    onMessage: () => {},
  });
  return {
    readiness: {
      ...lanes.readiness,
      postgres: databaseCheck(pool, 'SELECT FROM receipt_pending LIMIT 0'),
    },
    start: async () => {
      await hours.start();
      await lanes.start();
    },
    drain: () => lanes.drain(),
    close: async () => {
      hours.stop();
      worker.stop();
      await lanes.close();
      await pool.end();
      await traces?.stop();
    },
    reload: catalogue.reload,
  };
}
