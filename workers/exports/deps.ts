import { databaseCheck } from '#shared/kernel/postgres/fitness.ts';
import { randomUUID } from 'node:crypto';
import { createExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import {
  packSigner,
  packSignerAtHand,
} from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { didDocument, jwks } from '#shared/receipts/signing/publication.ts';
import { signingAgentOf } from '#shared/receipts/signing/sockets/signing-agent.ts';
import { witnessOf } from '#shared/ledger/http/witness.ts';
import { openReplica } from '#shared/process/open-replica.ts';
import { createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { openExportStore, openReceiptArchive } from '#shared/packs/files/open-store.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Config } from '#shared/config/config.ts';
import { CONTEXT_NAMES, contextDocument, receiptShapes } from '#shared/packs/files/contexts.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { packInstructions, packScript } from '#shared/packs/files/verification-files.ts';
import type { ProcessContext, ProcessParts } from '#shared/process/run-process.ts';
import { JobRole } from '#workers/runtime/deps.ts';
import type { PackDocuments } from './documents.ts';
import { exportEvents } from './events.ts';
import { readEvidence, readInventory, readWitnessPolicy } from './files/stated.ts';
import { runDueExports } from './run-export.ts';
import { sweepExports } from './sweep.ts';

/** For each pack one that reads ahead and one that says how far it is; one for the sweep. */
const CONNECTIONS_PER_PACK = 2;

/** Composes the process that builds evidence packs. */
export async function exportsProcess(context: ProcessContext): Promise<ProcessParts> {
  const { config, log, registry, processId } = context;
  const packsAtOnce = config.exportsConcurrency;
  const connections = packsAtOnce * CONNECTIONS_PER_PACK + 1;
  const role = new JobRole(context, { role: 'exports', connections });
  const { pool, queues } = role;
  const jobs = createExportJobs(pool, systemSurroundings);
  const store = openExportStore(config);
  const replica = openReplica(context, 'docket_exports');
  const issuer = receiptIssuer(config.publicUrl);
  const keys = { dir: config.signingKeysDir, agent: signingAgentOf(config), did: issuer.did };
  const deps = {
    jobs,
    store,
    source: createPackSource(
      pool,
      replica?.over(pool, packsAtOnce),
      createBodyArchive(openReceiptArchive(config)),
    ),
    documents: packDocuments(config),
    operator: {
      name: config.operatorName,
      identifier: config.operatorIdentifier,
      contracts: config.electricityContracts,
      evidence: config.evidence === undefined ? [] : readEvidence(config.evidence),
      inventory: config.inventory === undefined ? undefined : readInventory(config.inventory),
      witnessPolicy:
        config.witnessPolicy === undefined ? undefined : readWitnessPolicy(config.witnessPolicy),
      keptDays: config.packsKeptDays,
    },
    issuer,
    signer: () => packSignerAtHand(keys),
    events: exportEvents(log, registry),
    asked: {
      timestamp: config.tsaUrl !== undefined,
      witnesses: config.witnesses.map((setting) => witnessOf(setting).name),
    },
    newRunId: () => `${processId}-${randomUUID()}`,
    now: () => performance.now(),
  };
  // Without the key nothing can be sealed: said at the start, not at the first export.
  packSigner(keys);
  role.does(
    {
      export: (_job, signal) => runDueExports(deps, signal),
      'export-sweep': () =>
        sweepExports({
          jobs,
          store,
          start: () => queues.add('export', {}),
          waiting: async () => (await queues.counts('export'))['waiting'] ?? 0,
        }),
    },
    { export: packsAtOnce },
  );
  const parts = role.parts({
    postgres: databaseCheck(pool, 'select from export limit 0'),
    store: () => store.check(),
  });
  return {
    ...parts,
    start: () => {
      replica?.start();
      return parts.start();
    },
    close: async () => {
      await replica?.close();
      await parts.close();
    },
  };
}

/** What is shipped, and the keys as they are published when a pack is built. */
export function packDocuments(
  config: Pick<Config, 'signingKeysDir' | 'publicUrl'>,
  methodologies: Methodologies = shippedMethodologies(),
): PackDocuments {
  const keys = () => loadSigningKeys(config.signingKeysDir);
  return {
    contexts: new Map(CONTEXT_NAMES.map((name) => [name, contextDocument(name)!])),
    shapes: receiptShapes(),
    instructions: packInstructions(),
    script: packScript(),
    methodology: (name, version) => methodologies.methodologyDocument(name, version),
    lineage: (receipt, derivation) => packLineage({ ...methodologies, derivation }, receipt),
    didDocument: () => `${JSON.stringify(didDocument(keys(), config.publicUrl), null, 2)}\n`,
    jwks: () => `${JSON.stringify(jwks(keys(), config.publicUrl), null, 2)}\n`,
  };
}
