import type { Pool } from 'pg';
import { readKeptTimestamp } from '#shared/ledger/http/timestamp-tokens.ts';
import { createWitness, witnessOf } from '#shared/ledger/http/witness.ts';
import { createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { openReceiptArchive } from '#shared/packs/files/open-store.ts';
import { allRemembered, createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import type { PublishedHead } from '#shared/ledger/checkpoints.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { createPool, type PoolOptions } from '#shared/kernel/postgres/pool.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { plain, reasonOf } from '#shared/kernel/plain-text.ts';
import { createProgressBar } from '#cli/progress-bar.ts';
import { withRedis } from '#cli/redis.ts';
import { signatureCheck } from '#cli/signature-check.ts';
import type { AttestationCheck } from './anchor-attestations.ts';
import { type Finding, finding, type Severity } from './findings.ts';
import { examineLedger, type FsckOptions } from './ledger.ts';
import { examinePublished, examineWitnesses } from './published.ts';

type Verdict = 'sound' | 'attention' | 'damaged' | 'behind';
/** A ledger that is wrong from one end to the other need not be printed from one end to the other. */
const FINDINGS_MAX = 10_000;

export interface Examined {
  verdict: Verdict;
  /** Rebuilt from their receipts. */
  entries: number;
  findings: Finding[];
}

export interface Examining extends Pick<PoolOptions, 'url' | 'pooler'> {
  /** Or `anchor`; all when absent. */
  orgId?: string | undefined;
}

/**
 * Examines the ledger of a database: against what was published, and from the bytes of its receipts.
 * @param onFinding told each as it is found; a progress bar stands on standard error meanwhile
 * @throws Fault `store_unavailable` when the archive of older receipts is away
 */
export async function examineDatabase(
  { url, pooler, orgId }: Examining,
  onFinding: (found: Finding) => void,
): Promise<Examined> {
  // No time limit: a log of a hundred million entries takes the time it takes.
  const pool = createPool({
    url,
    ...(pooler === undefined ? {} : { pooler }),
    role: 'docket_operator',
    max: 1,
    applicationName: 'docket ledger fsck',
  });
  const bar = createProgressBar('Rebuilding');
  const findings: Finding[] = [];
  let entries = 0;
  try {
    const examination = examineAll(pool, {
      ...(orgId === undefined ? {} : { orgId }),
      signatures: signatureCheck('checkpoints'),
      anchorSignatures: signatureCheck('anchor'),
      attestations: attestationCheck(),
      archive: createBodyArchive(openReceiptArchive(loadToolConfig())),
      onProgress: (done, total) => {
        entries = done;
        bar.show(done, total);
      },
    });
    for await (const found of examination) {
      findings.push(found);
      bar.clear();
      onFinding(found);
      if (findings.length >= FINDINGS_MAX) break;
    }
  } catch (error) {
    throw archiveAway(error) ?? error;
  } finally {
    bar.clear();
    await pool.end();
  }
  return { verdict: verdictOf(findings), entries, findings };
}

/** Callers of the API are told to try again, and why only the log has. Who examines the ledger is the one to mend it. */
function archiveAway(error: unknown): Fault | undefined {
  if (!(error instanceof Fault) || error.code !== 'store_unavailable') return undefined;
  const { cause } = error;
  const message = `The archive of older receipts (RECEIPT_ARCHIVE) cannot be read: ${reasonOf(cause)}`;
  return new Fault('store_unavailable', { message, cause });
}

/** What was published comes first: it is known at once, and rebuilding may take an hour. */
async function* examineAll(pool: Pool, options: FsckOptions): AsyncGenerator<Finding> {
  const { orgId } = options;
  yield* await comparedWithRedis(pool, orgId);
  if (orgId === undefined || orgId === ANCHOR_LOG) {
    yield* await examineWitnesses(pool, witnessClients());
  }
  yield* examineLedger(pool, options);
}

/** Without Redis nothing here tells an older database from the newest, so a ledger is not called sound. */
async function comparedWithRedis(pool: Pool, orgId: string | undefined): Promise<Finding[]> {
  let remembered: ReadonlyMap<string, PublishedHead>;
  try {
    remembered = await withRedis(allRemembered);
  } catch (error) {
    const detail = `The logs were not compared with what Redis remembers as published. ${reasonOf(error)}`;
    return [finding('not_compared', orgId ?? '-', 'what was published', detail)];
  }
  const recall = (logs: readonly string[]): Promise<Map<string, PublishedHead>> =>
    withRedis((client) => createCheckpointMemory(client).recall(logs));
  return examinePublished(pool, { remembered, recall }, orgId);
}

export const witnessClients = () =>
  loadToolConfig().witnesses.map((each) => createWitness(each, verifyCosignature));

function verdictOf(findings: readonly Finding[]): Verdict {
  const has = (severity: Severity): boolean => findings.some((each) => each.severity === severity);
  if (has('damage')) return 'damaged';
  if (has('loss')) return 'behind';
  return has('attention') ? 'attention' : 'sound';
}

/** A line of it, on standard output. */
export function printFinding({ severity, orgId, subject, kind, detail }: Finding): void {
  process.stdout.write(`${plain(`${severity}  ${orgId}  ${subject}  ${kind}: ${detail}`)}\n`);
}

/** What an examination comes to, in a sentence. */
export function summaryOf({ verdict, entries, findings: { length: found } }: Examined): string {
  const rebuilt = `${entries} entries rebuilt from their receipts`;
  if (verdict === 'sound') return `The ledger is sound: ${rebuilt}.`;
  const count = found >= FINDINGS_MAX ? `the first ${found}` : String(found);
  return `The ledger is ${VERDICTS[verdict]}: ${rebuilt}, findings above: ${count}.`;
}

const VERDICTS: Readonly<Record<Exclude<Verdict, 'sound'>, string>> = {
  damaged: 'DAMAGED',
  behind: 'BEHIND what was published',
  attention: 'sound, but something waits for a person',
};
/** Timestamps by the certificates in them, cosignatures by the keys that WITNESSES names. */
function attestationCheck(): AttestationCheck {
  return {
    witnesses: loadToolConfig().witnesses.map(witnessOf),
    verify: verifyCosignature,
    readTimestamp: readKeptTimestamp,
  };
}
