import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { type LossStatement, parseLoss } from '../losses.ts';
import { MalformedLedgerText } from '../notes.ts';

/** A loss that was declared of a log. */
export interface DeclaredLoss {
  /** The signed statement, as it is handed out. */
  note: string;
  statement: LossStatement;
}

const NEWEST = statement(
  { log_id: 'text', note: 'text' },
  `select l.log_id, l.note from unnest($1::text[]) as o (log_id)
   cross join lateral (
     select * from ledger_loss l where l.log_id = o.log_id order by l.generation desc limit 1) l`,
);

/** The newest loss that was declared of each of these logs, which most have not; null for one that cannot be read. */
export async function newestLosses(
  db: Queryable,
  logIds: readonly string[],
): Promise<Map<string, LossStatement | null>> {
  const rows = await queryRows(db, NEWEST, [logIds]);
  return new Map(rows.map(({ log_id: logId, note }) => [logId, readable(note)]));
}

/** One that was changed is a fault of its own log, and not of those that are signed with it. */
function readable(note: string): LossStatement | null {
  try {
    return parseLoss(note).statement;
  } catch (error) {
    if (error instanceof MalformedLedgerText) return null;
    throw error;
  }
}

const OF_LOG = statement(
  { note: 'text' },
  'select note from ledger_loss where log_id = $1 order by generation',
);

/** Everything that was declared of a log, oldest first. Throws `MalformedLedgerText` for what was changed. */
export async function declaredLosses(db: Queryable, logId: string): Promise<DeclaredLoss[]> {
  const rows = await queryRows(db, OF_LOG, [logId]);
  return rows.map(({ note }) => ({ note, statement: parseLoss(note).statement }));
}

const DECLARE = statement(
  {},
  'insert into ledger_loss (log_id, generation, kept_size, note) values ($1, $2, $3, $4)',
);

/** Writes a statement down, in the transaction of the caller, who holds the log still. */
export async function storeLoss(
  client: Queryable,
  logId: string,
  { note, statement: { generation, kept } }: DeclaredLoss,
): Promise<void> {
  await execute(client, DECLARE, [logId, generation, kept.size, note]);
}
