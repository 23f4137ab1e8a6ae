import { HOUR_MS } from '#shared/kernel/time.ts';
import { AWAY, type Away, BYTES_PER_RECEIPT } from '#shared/packs/export-record.ts';
import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import type { ObjectStore, ObjectUpload } from '#shared/kernel/object-store.ts';
import type { ExportJobs, ExportRun } from '#shared/packs/postgres/export-jobs.ts';
import type { AskedAttestation } from '#shared/packs/attestation.ts';
import type { PackSource } from '#shared/packs/postgres/pack-source.ts';
import type { CredentialSigner } from '#shared/receipts/signing/signer.ts';
import { buildPack } from './build-pack.ts';
import type { PackDocuments } from './documents.ts';
import type { ExportEvents } from './events.ts';
import { DamagedArchive } from '#shared/ledger/body-archive.ts';
import { awayFor, ExportLost, ofStore, PackFailure } from './failure.ts';
import { damaged } from './sections.ts';
import type { OperatorStatement } from './operator-statement.ts';

export interface RunExportDeps {
  jobs: ExportJobs;
  source: PackSource;
  store: ObjectStore;
  documents: PackDocuments;
  operator: OperatorStatement;
  issuer: ReceiptIssuer;
  /** Made anew for each pack: keys rotate while the process runs. */
  signer: () => CredentialSigner;
  events: ExportEvents;
  /** What others are asked to attest of the anchor. */
  asked: AskedAttestation;
  newRunId: () => string;
  now: () => number;
}

/** Often enough for a progress bar, and far below the silence after which a run counts as dead. */
const HEARTBEAT_MS = 500;

/** Then the next job goes on, so that the pack which is begun last has most of a job's time. */
const TURNS_MS = HOUR_MS;

/**
 * Runs exports while any is due: a job says that some wait, and the rows say before each whose turn it is. One that another
 * process takes meanwhile is due no longer.
 */
export async function runDueExports(deps: RunExportDeps, stopping: AbortSignal): Promise<void> {
  const end = deps.now() + TURNS_MS;
  while (!stopping.aborted && deps.now() < end) {
    const [id] = await deps.jobs.due(1);
    if (id === undefined) return;
    await runExport(deps, id, stopping);
  }
}

/**
 * Builds one pack and gives it its name. Safe to run twice on the same export, at the same time even: one run holds it,
 * and two would write the same bytes. Nothing happens when it is not to be had.
 */
export async function runExport(
  deps: RunExportDeps,
  exportId: string,
  stopping: AbortSignal,
): Promise<void> {
  const { jobs, events, now } = deps;
  const run = await jobs.claim(exportId, deps.newRunId());
  if (run === null) return;
  const startedAt = now();
  try {
    if (await waitsForAnchor(deps, run)) return events.waiting(run.record);
    events.started(run.record);
    const pack = await write(deps, run, stopping);
    events.ready(run.record, pack.sizeBytes, now() - startedAt);
  } catch (caught) {
    const error = caught instanceof DamagedArchive ? damaged(caught.message) : caught;
    const away = stopping.aborted ? null : awayFor(error);
    if (error instanceof PackFailure) {
      await fail(deps, run, error);
    } else if (error instanceof ExportLost) {
      await jobs.release(run, 'now');
      events.lost(run.record);
    } else if (away !== null) {
      await awaitReturn(deps, run, { away, error });
    } else {
      await jobs.release(run, stopping.aborted ? 'now' : 'later');
      events.interrupted(run.record, error);
    }
  }
}

async function fail({ jobs, events }: RunExportDeps, run: ExportRun, why: PackFailure) {
  await jobs.fail(run, why);
  events.failed(run.record, why);
}

/** Gives it back until what is away may be there again, or gives it up when it has waited for its time. */
async function awaitReturn(
  deps: RunExportDeps,
  run: ExportRun,
  { away, error }: { away: Away; error: unknown },
): Promise<void> {
  if (await deps.jobs.awaitReturn(run, away)) return deps.events.held(run.record, away, error);
  await fail(deps, run, new PackFailure('given_up', `It has waited for a day. ${AWAY[away]}`));
}

/** Whether it was given back, because others have not attested its anchor yet and may still do. */
async function waitsForAnchor(
  { jobs, source, asked }: RunExportDeps,
  run: ExportRun,
): Promise<boolean> {
  if (!asked.timestamp && asked.witnesses.length === 0) return false;
  const { orgId } = run.record;
  return !(await source.isAttested(orgId, run.record, asked)) && (await jobs.awaitAnchor(run));
}

async function write(
  { jobs, store, source, documents, operator, issuer, signer, asked }: RunExportDeps,
  run: ExportRun,
  stopping: AbortSignal,
): Promise<{ sizeBytes: number }> {
  const { id, orgId, total } = run.record;
  const heart = startHeartbeat(jobs, run);
  let upload: ObjectUpload | undefined;
  try {
    upload = await ofStore(store.create(id, total * BYTES_PER_RECEIPT));
    const target = upload;
    const pack = await buildPack({
      ...run.record,
      orgId,
      source,
      documents,
      operator,
      issuer,
      signer: signer(),
      asked,
      sink: (bytes) => ofStore(target.write(bytes)),
      onProgress: (done) => heart.beat(done),
      signal: stopping,
    });
    await ofStore(upload.commit());
    upload = undefined;
    const { keptDays } = operator;
    if (!(await jobs.finish(run, { ...pack, keptDays }))) throw new ExportLost();
    return pack;
  } catch (error) {
    // The first error is what went wrong; what cannot be thrown away now is thrown away by the next run.
    await upload?.abort().catch(() => {});
    throw error;
  } finally {
    heart.stop();
  }
}

/** Says in the database how far the run is, also while the work waits. */
function startHeartbeat(
  jobs: ExportJobs,
  run: ExportRun,
): { beat: (done: number) => Promise<boolean>; stop: () => void } {
  let done = 0;
  let ours = true;
  let saying = false;
  const say = async (): Promise<void> => {
    if (saying) return;
    saying = true;
    try {
      ours = await jobs.progress(run, done);
    } catch {
      // The database is away: whether the run is still ours is found out when it is back.
    } finally {
      saying = false;
    }
  };
  const timer = setInterval(() => void say(), HEARTBEAT_MS);
  return {
    beat: async (now) => {
      done = now;
      return ours;
    },
    stop: () => clearInterval(timer),
  };
}
