import type { Pool } from 'pg';
import type { RestatementStore } from '../port-recalculation.ts';
import { revisableOf, type RevisableRow } from './revisions.ts';

/** Runs of restating in PostgreSQL, for the role `docket_recalculation`. */
export function createRestatementStore(pool: Pool): RestatementStore {
  return {
    async unfinished() {
      const { rows } = await pool.query<{ org_id: string }>(
        'select org_id from restatement where finished_at is null order by requested_at',
      );
      return rows.map(({ org_id }) => org_id);
    },
    // Refused and degraded receipts have nothing to restate; what is owed to the latter is another matter.
    async page(orgId, limit) {
      const { rows } = await pool.query<RevisableRow & { index: string | null }>(
        `with page as materialized (
           select b.entry_id from restatement s
           join ledger_body b on b.org_id = s.org_id and b.entry_id > s.after_id and b.entry_id < s.end_id
           where s.org_id = $1 and s.finished_at is null
             and b.kind in ('inference', 'recalculated', 'restated')
             and not exists (select from receipt_revision v where v.original_id = b.entry_id)
           order by b.entry_id limit $2)
         select b.entry_id, b.org_id, b.key_id, b.body, e.index
         from page p
         cross join lateral (select * from ledger_body b where b.entry_id = p.entry_id limit 1) b
         left join ledger_entry e on e.entry_id = p.entry_id
         order by b.entry_id`,
        [orgId, limit],
      );
      const receipts = rows.filter(({ index }) => index !== null).map(revisableOf);
      const lastId = rows.at(-1)?.entry_id ?? null;
      return { receipts, lastId, notIntegrated: rows.length - receipts.length };
    },
    async advance(orgId, { lastId, examined, restated, skipped }) {
      await pool.query(
        `update restatement set
           after_id = greatest(after_id, coalesce($2, after_id)),
           examined = examined + $3, restated = restated + $4, skipped = skipped + $5,
           finished_at = case when $2::text is null then now() end
         where org_id = $1 and finished_at is null`,
        [orgId, lastId, examined, restated, skipped],
      );
    },
  };
}
