import type { AttestableCheckpoint, PublishedHead } from '#shared/ledger/checkpoints.ts';
import { sameHash, type Hash } from '#shared/ledger/hashing.ts';
import type { WitnessClient } from '#shared/ledger/http/witness.ts';
import { type Outside, outsideOf } from '#shared/ledger/losses.ts';
import { parseNote } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG, auditLogOf } from '#shared/ledger/origins.ts';
import { storedRootAt } from '#shared/ledger/postgres/checkpoints.ts';
import { newestLosses } from '#shared/ledger/postgres/losses.ts';
import { latestCheckpoint } from '#shared/ledger/postgres/published.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { reasonOf } from '#shared/kernel/plain-text.ts';
import { finding, type Finding } from './findings.ts';

/** What is remembered, outside of the database, of the last checkpoints of logs. */
export interface Remembered {
  /** Of every log, read before the database is. */
  remembered: ReadonlyMap<string, PublishedHead>;
  /** Of some logs, as of now. */
  recall: (logs: readonly string[]) => Promise<ReadonlyMap<string, PublishedHead>>;
}

/** How many entries a log has here, beside what was published of it. */
export interface ComparedLog {
  /** The organisation, `auditLogOf` it, or the anchor log. */
  logId: string;
  here: number;
  /** Entries of the last checkpoint that is stored here. */
  signed: number;
  /** What is remembered elsewhere of its last checkpoint, held against what was declared of it. */
  outside: Outside;
  /** Entries of the last checkpoint that is remembered, if that is of the tree that is the newest here. */
  remembered: number;
  /** Entries of the newest heads tree of the anchor log that has any of it. */
  anchored: number;
}

const LOGS = statement(
  { log_id: 'text', size: 'int8', signed: 'int8', anchored: 'int8' },
  `with kept as (
     select h.org_id as log_id, h.size, h.checkpoint_size as signed from ledger_head h
     union all
     select 'audit/' || h.org_id, h.size, coalesce(
       (select c.size from audit_checkpoint c where c.log_id = 'audit/' || h.org_id
        order by c.size desc limit 1), 0)
     from audit_head h
   ), named as (
     select log_id from kept union select org_id from anchor_slot union select unnest($1::text[]))
   select n.log_id, coalesce(k.size, 0) as size, coalesce(k.signed, 0) as signed, coalesce(
     (select a.size from anchor_head a where a.org_id = n.log_id order by a.index desc limit 1), 0) as anchored
   from named n left join kept k using (log_id) order by n.log_id`,
);

/**
 * Every log that is here, was anchored here or is remembered. What is remembered has to be read before: a log has its
 * entries before their checkpoint is remembered, so one that is well is never smaller.
 */
export async function compareSizes(
  db: Queryable,
  remembered: ReadonlyMap<string, PublishedHead>,
): Promise<ComparedLog[]> {
  const rows = await queryRows(db, LOGS, [[...remembered.keys()]]);
  const losses = await newestLosses(
    db,
    rows.map((row) => row.log_id),
  );
  return rows.map(({ log_id: logId, size, signed, anchored }) => {
    const outside = outsideOf(remembered.get(logId), losses.get(logId));
    return {
      logId,
      here: Number(size),
      signed: Number(signed),
      outside,
      remembered: outside.head?.size ?? 0,
      anchored: Number(anchored),
    };
  });
}

/** `1,234 entries published, 1,200 here`; null for a log that has all that was published. */
export function shortfall({ here, outside, remembered, anchored }: ComparedLog): string | null {
  if (outside.contradiction !== null) return outside.contradiction;
  const published = Math.max(remembered, anchored);
  return published > here ? `${entries(published)} published, ${number(here)} here` : null;
}

/**
 * Compares logs with what is known elsewhere of their last checkpoints. A database that was put back to an older state
 * is sound in itself: only what lies outside of it shows what it has lost.
 * @param orgId one organisation with its audit log, or the anchor log; all when absent
 */
export async function examinePublished(
  db: Queryable,
  { remembered, recall }: Remembered,
  orgId?: string,
): Promise<Finding[]> {
  const compared = await compareSizes(db, remembered);
  const logs = compared.filter(({ logId }) => {
    return orgId === undefined || logId === orgId || logId === auditLogOf(orgId);
  });
  const findings: Finding[] = [];
  for (const log of logs) {
    const problem = await problemOf(db, log);
    if (problem !== null) findings.push(problem);
  }
  const forgotten = await forgottenOf(logs, recall);
  if (forgotten !== null) findings.push(forgotten);
  return findings;
}

async function problemOf(db: Queryable, log: ComparedLog): Promise<Finding | null> {
  const { logId, here, outside } = log;
  const missing = shortfall(log);
  if (missing !== null) {
    const byRedis = outside.contradiction !== null || log.remembered > here;
    const detail = `${missing}, as ${byRedis ? 'Redis remembers' : 'the anchor log has it'}.`;
    return finding('behind', logId, 'log', detail);
  }
  const { head } = outside;
  if (head === null || head.size === 0) return null;
  const root = await rootHere(db, logId, head.size);
  if (root !== null && sameHash(root, head.root)) return null;
  const detail = `The root of the ${entries(head.size)} published is not that of those here, as Redis remembers.`;
  return finding('grown_otherwise', logId, 'log', detail);
}

const AUDIT_HASH = statement(
  { hash: 'bytea' },
  'select hash from audit_log where org_id = $1 and sequence = $2::bigint - 1',
);

/** What a checkpoint of this size would name: the root of a tree, or the hash of an audit log's last entry. */
export async function rootHere(db: Queryable, logId: string, size: number): Promise<Hash | null> {
  if (!logId.startsWith(auditLogOf(''))) return storedRootAt(db, logId, size);
  const orgId = logId.slice(auditLogOf('').length);
  return (await queryRow(db, AUDIT_HASH, [orgId, size]))?.hash ?? null;
}

/** Logs that are named of those of which too little is remembered; the cause is one for all. */
const NAMED_MAX = 3;

/** What Redis should remember and does not. A checkpoint is remembered before it is stored, so those of this moment are. */
async function forgottenOf(
  logs: readonly ComparedLog[],
  recall: Remembered['recall'],
): Promise<Finding | null> {
  const suspects = logs.filter((log) => log.signed > log.remembered);
  if (suspects.length === 0) return null;
  const again = await recall(suspects.map(({ logId }) => logId));
  const forgotten = suspects.filter((log) => log.signed > (again.get(log.logId)?.size ?? 0));
  if (forgotten.length === 0) return null;
  const names = forgotten.slice(0, NAMED_MAX).map(({ logId }) => logId);
  const more = forgotten.length > NAMED_MAX ? ` and ${forgotten.length - NAMED_MAX} more` : '';
  const detail = `Redis remembers less than is published here of ${names.join(', ')}${more}: it was emptied or put back, and would not show what else was published.`;
  return finding('memory_behind', '-', 'what was published', detail);
}

/**
 * Asks witnesses how many entries of the anchor log they have seen. One that has seen more, or others, than are here
 * has signed what was published.
 */
export async function examineWitnesses(
  db: Queryable,
  witnesses: readonly Pick<WitnessClient, 'name' | 'look'>[],
): Promise<Finding[]> {
  if (witnesses.length === 0) return [];
  const checkpoint = await latestCheckpoint(db, ANCHOR_LOG);
  if (checkpoint === null) {
    const detail = 'The anchor log has no checkpoint here to ask witnesses with.';
    return [finding('witness_unasked', ANCHOR_LOG, 'witnesses', detail)];
  }
  const { size, note } = checkpoint;
  const { text } = parseNote(note);
  const loss = (await newestLosses(db, [ANCHOR_LOG])).get(ANCHOR_LOG);
  // Until the successor has a head of its own, witnesses are asked about the tree whose loss was declared.
  const declared = loss && loss.kept.size >= size ? loss.published.size : 0;
  const found = await Promise.all(
    witnesses.map((witness) => examineWitness(db, witness, { size, note, text }, declared)),
  );
  return found.filter((each) => each !== null);
}

/** The most entries that a witness has signed of the tree whose head is the newest here; 0 where none could be asked. */
export async function witnessedSize(
  db: Queryable,
  witnesses: readonly Pick<WitnessClient, 'look'>[],
): Promise<number> {
  const checkpoint = await latestCheckpoint(db, ANCHOR_LOG);
  if (checkpoint === null) return 0;
  const { size, note } = checkpoint;
  const { text } = parseNote(note);
  const seen = witnesses.map(({ look }) => look({ size, note, text }));
  const answers = await Promise.allSettled(seen);
  return Math.max(0, ...answers.map((each) => (each.status === 'fulfilled' ? each.value.size : 0)));
}

async function examineWitness(
  db: Queryable,
  { name, look }: Pick<WitnessClient, 'name' | 'look'>,
  checkpoint: AttestableCheckpoint,
  declared: number,
): Promise<Finding | null> {
  try {
    const { size, isOther } = await look(checkpoint);
    if (isOther) {
      const detail = `The root of the ${entries(size)} published is not that of those here, as ${name} has signed.`;
      return finding('grown_otherwise', ANCHOR_LOG, 'log', detail);
    }
    // Asked again, for the log may have grown since, and the witness signed what is new.
    const here = (await latestCheckpoint(db, ANCHOR_LOG))?.size ?? 0;
    if (size <= Math.max(here, declared)) return null;
    const detail = `${entries(size)} published, ${number(here)} here, as ${name} has signed.`;
    return finding('behind', ANCHOR_LOG, 'log', detail);
  } catch (error) {
    // `fetch` says only that it failed; the reason is in the error's `cause`.
    const reason = reasonOf(error instanceof Error ? (error.cause ?? error) : error);
    const detail = `It could not be asked what it has signed: ${reason}.`;
    return finding('witness_unasked', ANCHOR_LOG, `witness ${name}`, detail);
  }
}

const number = (value: number): string => value.toLocaleString('en-US');
const entries = (value: number): string => `${number(value)} ${value === 1 ? 'entry' : 'entries'}`;
