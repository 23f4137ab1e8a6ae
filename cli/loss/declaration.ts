import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  type CheckpointMemory,
  type CheckpointSigner,
  parseCheckpoint,
  type PublishedHead,
} from '#shared/ledger/checkpoints.ts';
import { EMPTY_ROOT, HASH_BYTES, sameHash } from '#shared/ledger/hashing.ts';
import {
  formatLoss,
  GENERATION_MAX,
  type LossStatement,
  outsideOf,
  signedLoss,
  type TreeHead,
} from '#shared/ledger/losses.ts';
import { ANCHOR_LOG, auditLogOf, type LogOrigins, logOfTree } from '#shared/ledger/origins.ts';
import { holdAuditHeads } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { newestLosses, storeLoss } from '#shared/ledger/postgres/losses.ts';
import { rootHere } from '#cli/fsck/published.ts';

/** Who declares a loss, of whose logs, and why. */
export interface Declaration {
  /** An organisation, for its ledger and its audit log, or `anchor`, for the anchor log and the audit log of the service. */
  orgId: string;
  actor: Actor;
  reason: string;
}

/** What declaring takes besides the database. */
export interface DeclarationTools {
  memory: Pick<CheckpointMemory, 'recall'>;
  origins: LogOrigins;
  surroundings: Surroundings;
  /** Entries of the anchor log that a witness has signed; 0 where none could be asked. */
  witnessed: number;
}

/** The last signed head that the database has, and the name of the log in it. */
type SignedHere = TreeHead & { log?: string };

type Signers = Readonly<Record<'checkpoints' | 'anchor', CheckpointSigner>>;

/** What is lost of a log, or already declared, for those that an organisation has. */
export interface Losses {
  lost: { logId: string; statement: LossStatement }[];
  /** Declared before, while nothing was signed of the successor yet. */
  declared: LossStatement[];
}

const isAudit = (logId: string): boolean => logId.startsWith(auditLogOf(''));

/** A ledger, then its audit log: fsck names them alike. */
function logsOf(orgId: string): string[] {
  return [orgId, auditLogOf(chainOf(orgId))];
}

const chainOf = (orgId: string): string => (orgId === ANCHOR_LOG ? SERVICE_CHAIN : orgId);

/**
 * Declares what is lost of an organisation's logs: signs and stores the statements, by which ledger workers go on under the
 * successors' names, lets halted logs go on, and writes the act down. All of it is one transaction, under the locks that
 * integrators and signers take, so it happened or it did not.
 * @throws Error for people when the database contradicts itself
 */
export async function declareLosses(
  pool: Pool,
  declaration: Declaration,
  tools: DeclarationTools & { signers: Signers },
): Promise<Losses> {
  const { orgId, actor, reason } = declaration;
  return inTransaction(pool, async (client) => {
    await queryRows(client, LOCK_HEAD, [orgId]);
    await holdAuditHeads(client);
    const found = await assessLosses(client, declaration, tools);
    if (found.lost.length === 0) return found;
    for (const { logId, statement: loss } of found.lost) {
      const signer = tools.signers[logId === ANCHOR_LOG ? 'anchor' : 'checkpoints'];
      await storeLoss(client, logId, { note: signedLoss(loss, signer), statement: loss });
    }
    if (found.lost.some(({ logId }) => logId === orgId)) await execute(client, GO_ON, [orgId]);
    await appendAudit(client, tools.surroundings, {
      orgId: chainOf(orgId),
      action: 'ledger.loss_declared',
      actor,
      reason,
      // The whole texts that are signed, which are anchored with the head of the chain.
      details: { losses: found.lost.map(({ statement: loss }) => formatLoss(loss)) },
    });
    return found;
  });
}

const LOCK_HEAD = statement(
  { org_id: 'text' },
  'select org_id from ledger_head where org_id = $1 for update',
);

const GO_ON = statement(
  {},
  'update ledger_head set halted_at = null, halt_reason = null where org_id = $1 and halted_at is not null',
);

/** What is lost of an organisation's logs by what is remembered outside of the database. */
export async function assessLosses(
  db: Queryable,
  declaration: Declaration,
  tools: DeclarationTools,
): Promise<Losses> {
  const losses: Losses = { lost: [], declared: [] };
  const logIds = logsOf(declaration.orgId);
  const remembered = await tools.memory.recall(logIds);
  const newest = await newestLosses(db, logIds);
  for (const logId of logIds) {
    const declared = newest.get(logId);
    if (declared === null)
      throw new Error(`The loss that was declared of ${logId} cannot be read.`);
    const signed = await signedHere(db, logId);
    const witnessed = logId === ANCHOR_LOG ? tools.witnessed : 0;
    const published = await publishedBeyond(db, logId, {
      remembered: remembered.get(logId),
      declared,
      signed,
      witnessed,
    });
    if (published !== null) {
      const log = nameOf(logId, tools.origins);
      if (signed.log !== undefined && signed.log !== log) {
        throw new Error(
          `Heads of ${logId} are signed as ${signed.log}, and by PUBLIC_URL it is ${log}.`,
        );
      }
      await demandOneTime(db, logId, signed.size);
      losses.lost.push({
        logId,
        statement: statementOf(log, { published, declared, signed }, declaration, tools),
      });
    } else if (declared !== undefined && declared.kept.size >= signed.size) {
      losses.declared.push(declared);
    }
  }
  return losses;
}

function nameOf(logId: string, origins: LogOrigins): string {
  if (logId === ANCHOR_LOG) return origins.anchor;
  return isAudit(logId)
    ? origins.audit(logId.slice(auditLogOf('').length))
    : origins.organisation(logId);
}

const SIGNED = statement(
  { size: 'int8', root: 'bytea', note: 'text' },
  `select size, root, note from ledger_checkpoint where org_id = $1
   union all select size, hash, note from audit_checkpoint where log_id = $1
   order by size desc limit 1`,
);

async function signedHere(db: Queryable, logId: string): Promise<SignedHere> {
  const row = await queryRow(db, SIGNED, [logId]);
  // What comes before the first entry: of a chain 64 zeros, of a tree the hash of nothing.
  if (row === undefined)
    return { size: 0, root: isAudit(logId) ? new Uint8Array(HASH_BYTES) : EMPTY_ROOT };
  const head = { size: Number(row.size), root: row.root };
  if (!sameHash((await rootHere(db, logId, head.size)) ?? EMPTY_ROOT, head.root)) {
    throw new Error(
      `The entries of ${logId} do not give the root that was signed of them: docket ledger fsck`,
    );
  }
  return { ...head, log: logOfTree(parseCheckpoint(row.note).checkpoint.origin).log };
}

type Published = LossStatement['published'];

/** The last head that is known outside and that the database does not lead to; null when there is none. */
async function publishedBeyond(
  db: Queryable,
  logId: string,
  {
    remembered,
    declared,
    signed,
    witnessed,
  }: {
    remembered: PublishedHead | undefined;
    declared: LossStatement | undefined;
    signed: SignedHere;
    witnessed: number;
  },
): Promise<Published | null> {
  const generation = declared?.generation ?? 1;
  const { head, contradiction } = outsideOf(remembered, declared);
  if (contradiction !== null) return { generation, ...remembered! };
  // Witnesses were asked about the tree of the last head that is here, which may be a closed one.
  const isOpened = declared !== undefined && declared.kept.size >= signed.size;
  const settled = isOpened ? declared.published : { size: 0, generation };
  if (witnessed > Math.max(head?.size ?? 0, signed.size, settled.size)) {
    return { size: witnessed, root: null, generation: settled.generation };
  }
  if (head === null || head.size === 0) return null;
  const root = await rootHere(db, logId, head.size);
  return root !== null && sameHash(root, head.root) ? null : { generation, ...head };
}

const ANCHORED = statement(
  { size: 'int8?' },
  'select max(size) as size from anchor_head where org_id = $1',
);

/** Tables of different times are damage, which no statement mends: what is anchored in here must be in here. */
async function demandOneTime(db: Queryable, logId: string, signed: number): Promise<void> {
  const anchored = Number((await queryRow(db, ANCHORED, [logId]))?.size ?? 0);
  if (anchored <= signed) return;
  throw new Error(
    `The anchor log in this database has ${anchored} entries of ${logId}, and ${signed} are here: its tables are of different times. Restore all of it from one.`,
  );
}

function statementOf(
  log: string,
  {
    published,
    declared,
    signed,
  }: { published: Published; declared: LossStatement | undefined; signed: SignedHere },
  { actor, reason }: Declaration,
  { surroundings }: DeclarationTools,
): LossStatement {
  const previous = declared?.generation ?? 1;
  const { size, root } = signed;
  if (published.generation === previous && published.size <= size) {
    throw new Error(
      `Of ${log} two heads of ${published.size} entries or more were signed that contradict each other, one here and one that is remembered. That is no loss.`,
    );
  }
  const generation = Math.max(previous, published.generation) + 1;
  if (generation > GENERATION_MAX) throw new Error(`${log} has had ${GENERATION_MAX} trees.`);
  return {
    log,
    generation,
    previous,
    published,
    kept: { size, root },
    at: new Date(surroundings.now()).toISOString(),
    actor: `${actor.kind}:${actor.id}`,
    reason,
  };
}
