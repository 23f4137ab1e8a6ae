import type { Pool } from 'pg';
import { execute, queryRow, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import { planByIndex } from './append.ts';
import { sumUp } from './usage-sums.ts';

const LAGGING_LOG = `select org_id, usage_size, size from ledger_head where usage_size < size
   order by org_id limit 1`;
const LAGGING_COLUMNS = { org_id: 'text', usage_size: 'int8', size: 'int8' } as const;

const ANY_LAGGING = statement(LAGGING_COLUMNS, LAGGING_LOG);
const LOCK_LAGGING = statement(LAGGING_COLUMNS, `${LAGGING_LOG} for update skip locked`);

const ADVANCE = statement({}, 'update ledger_head set usage_size = $2 where org_id = $1');

/**
 * Sums up usage where it is not summed up as far as its log goes: at most `limit` entries of one log. Integration sums up what
 * it appends, so this is for logs whose sums an operator has deleted, to have them made anew, with `usage_size` set back.
 * @returns false when no log lags behind
 */
export async function sumUpAnew(pool: Pool, limit: number): Promise<boolean> {
  // Most looks find nothing, and one statement says so.
  if ((await queryRow(pool, ANY_LAGGING)) === undefined) return false;
  return inTransaction(pool, async (client) => {
    await planByIndex(client);
    const row = await queryRow(client, LOCK_LAGGING);
    if (row === undefined) return false;
    const first = Number(row.usage_size);
    const end = Math.min(Number(row.size), first + limit);
    await sumUp(client, [{ orgId: row.org_id, first, end }]);
    await execute(client, ADVANCE, [row.org_id, end]);
    return true;
  });
}
