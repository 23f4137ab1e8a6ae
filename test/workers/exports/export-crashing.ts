/**
 * Builds one export and kills itself at the nth step that touches the store or the end of the run:
 * node export-crashing.ts <database url> <keys dir> <packs dir> <export id> <n>. Prints how many steps there were.
 */
import { STATES_NOTHING } from '#test/support/packs.ts';
import { randomUUID } from 'node:crypto';
import { flushCompileCache } from 'node:module';
import { createExportJobs, type ExportJobs } from '#shared/packs/postgres/export-jobs.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { activeKey, loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { createDirectoryStore } from '#shared/packs/files/directory.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { packDocuments } from '#workers/exports/deps.ts';
import { runExport } from '#workers/exports/run-export.ts';

const [url = '', signingKeysDir = '', packs = '', exportId = '', nth = ''] = process.argv.slice(2);
const publicUrl = 'https://gateway.example';
let steps = 0;
// Who is killed does not write down by itself what was compiled for it.
flushCompileCache();

/** Runs a step, and dies before it or right after it when it is its turn. */
async function step<T>(work: () => Promise<T>): Promise<T> {
  steps += 1;
  if (steps === Number(nth)) process.kill(process.pid, 'SIGKILL');
  const result = await work();
  steps += 1;
  if (steps === Number(nth)) process.kill(process.pid, 'SIGKILL');
  return result;
}

const directory = createDirectoryStore(packs);
const store: ObjectStore = {
  ...directory,
  async create(key, bytes) {
    const upload = await step(() => directory.create(key, bytes));
    return {
      write: (part) => step(() => upload.write(part)),
      commit: () => step(() => upload.commit()),
      abort: () => upload.abort(),
    };
  },
};
const pool = createPool({ url, role: 'docket_exports', max: 3, applicationName: 'crashing' });
const known = createExportJobs(pool, systemSurroundings);
const jobs: ExportJobs = {
  ...known,
  claim: (id, runId) => step(() => known.claim(id, runId)),
  finish: (run, pack) => step(() => known.finish(run, pack)),
};
const { did } = receiptIssuer(publicUrl);
const { privateKeyPem } = activeKey(loadSigningKeys(signingKeysDir), 'packs');
const ignore = (): void => {};
await runExport(
  {
    jobs,
    store,
    source: createPackSource(pool),
    documents: packDocuments({ signingKeysDir, publicUrl }),
    operator: STATES_NOTHING,
    issuer: receiptIssuer(publicUrl),
    signer: () => createReceiptSigner({ privateKeyPem: privateKeyPem!, did }),
    events: {
      started: ignore,
      waiting: ignore,
      held: ignore,
      ready: ignore,
      failed: ignore,
      lost: ignore,
      interrupted: ignore,
    },
    asked: { timestamp: false, witnesses: [] },
    newRunId: randomUUID,
    now: Date.now,
  },
  exportId,
  new AbortController().signal,
);
await pool.end();
process.stdout.write(String(steps));
