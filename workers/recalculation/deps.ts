import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import {
  createRestatementStore,
  createRevisionStore,
} from '#shared/receipts/postgres/revisions.ts';
import { randomBytes } from 'node:crypto';
import { askMeter } from '#shared/metering/http/meter-client.ts';
import { createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { openReceiptArchive } from '#shared/packs/files/open-store.ts';
import { createHourStore } from '#shared/receipts/postgres/hour-store.ts';
import { createMeteringStore } from '#shared/metering/postgres/metering.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import type { Config } from '#shared/config/config.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { openCatalogue } from '#shared/process/open-catalogue.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { JobRole } from '#workers/runtime/deps.ts';
import { type RecalculationEvents, recalculationEvents } from './events.ts';
import { recalculationHandlers } from './handlers.ts';
import type { ReviseDeps } from './revise.ts';

/** Beside the recalculations at work: one each for the sweep, restating, reading meters, settling them, and hours. */
const OTHER_CONNECTIONS = 5;

/** Composes a recalculation worker: the job queues, the methodology, the catalogue, the signing key, PostgreSQL. */
export async function recalculationProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry } = context;
  const events = recalculationEvents(log, registry);
  const catalogue = openCatalogue(config, log);
  const concurrency = config.recalculationConcurrency;
  const connections = concurrency + OTHER_CONNECTIONS;
  const role = new JobRole(context, { role: 'recalculation', connections });
  const { pool, queues } = role;
  const archive = createBodyArchive(openReceiptArchive(config));
  const { handlers, renew } = recalculationHandlers({
    ...issuing(config, events),
    events,
    revisions: createRevisionStore(pool, archive),
    restatements: createRestatementStore(pool, archive),
    methodology: shippedMethodologies().current,
    catalogue: () => catalogue.current().catalogue,
    addRecalculation: (receiptId) => queues.add('recalculation', { receiptId }),
    addRestatement: (orgId) => queues.add('restatement', { orgId }),
    metering: createMeteringStore(pool, archive),
    hours: createHourStore(pool, archive),
    askMeter: (meter) =>
      askMeter(
        meter,
        meter.tokenEnv === undefined ? undefined : config.upstreamCredential(meter.tokenEnv),
      ),
    newSalt: () => randomBytes(16).toString('base64url'),
    settleMs: config.meterSettleMs,
  });
  role.does(handlers, { recalculation: concurrency });
  return {
    ...role.parts({ postgres: databaseCheck(pool, 'select from recalculation limit 0') }),
    reload() {
      catalogue.reload();
      renew().catch(events.storeFailed);
    },
  };
}

/** What revisions are signed with, and how they are named. */
function issuing(config: Config, events: RecalculationEvents): ReviseDeps {
  const issuer = receiptIssuer(config.publicUrl);
  const signer = currentReceiptSigner(
    { dir: config.signingKeysDir, agent: signingAgentOf(config), did: issuer.did },
    events.signingKeysUnreadable,
  );
  return { issuer, signer, now: Date.now, newReceiptId: (nowMs) => newId('rcpt', nowMs) };
}
