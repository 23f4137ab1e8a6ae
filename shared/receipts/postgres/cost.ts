import { queryRow, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

const COST = statement(
  { cost: 'text?' },
  `select (select code from currency) || ' ' || cost as cost from ledger_body where entry_id = $2 and org_id = $1`,
);

/** What the request of a receipt cost, as `EUR 0.00042`; null where that is not known, undefined where the receipt is not theirs. */
export async function readCost(
  on: Queryable,
  { orgId, receiptId }: { orgId: string; receiptId: string },
): Promise<string | null | undefined> {
  return (await queryRow(on, COST, [orgId, receiptId]))?.cost;
}
