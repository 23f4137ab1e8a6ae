import type { Pool } from 'pg';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** A request that screening has blocked. What was asked is not kept. */
export interface PolicyHit {
  receiptId: string;
  orgId: string;
  organisationName: string | null;
  keyId: string | null;
  model: string | null;
  route: string | null;
  /** Null for what was blocked before rules were kept. */
  rule: string | null;
  /** Epoch milliseconds. */
  at: number;
}

/** How often a rule has blocked requests. */
export interface RuleFigures {
  rule: string | null;
  hits: number;
  organisations: number;
  /** The newest of them, as the receipt's id. */
  newest: string;
}

/** Which of them: of one rule, after (older than) one receipt. */
export interface PolicyHitsRequest {
  rule?: string;
  orgId?: string;
  after?: string | undefined;
  limit: number;
}

const HITS = statement(
  {
    entry_id: 'text',
    org_id: 'text',
    organisation_name: 'text?',
    key_id: 'text?',
    model: 'text?',
    route: 'text?',
    refusal_rule: 'text?',
    issued_at: 'timestamptz',
  },
  `select b.entry_id, b.org_id, a.name as organisation_name, b.key_id, b.model, b.route, b.refusal_rule, b.issued_at
   from ledger_body b left join account a on a.id = b.org_id
   where b.kind = 'refused' and ($1::text is null or b.entry_id < $1) and ($2::text is null or b.refusal_rule = $2)
     and ($3::text is null or b.org_id = $3)
   order by b.entry_id desc limit $4`,
);

const BY_RULE = statement(
  { refusal_rule: 'text?', hits: 'int8', organisations: 'int8', newest: 'text' },
  `select refusal_rule, count(*) as hits, count(distinct org_id) as organisations, max(entry_id) as newest
   from ledger_body where kind = 'refused' and entry_id >= $1
   group by refusal_rule order by count(*) desc, refusal_rule limit 100`,
);

/** What screening has blocked, over all organisations: for operators. */
export function createPolicyHits(pool: Pool) {
  return {
    /** Newest first. */
    async list({ rule, orgId, after, limit }: PolicyHitsRequest): Promise<PolicyHit[]> {
      const asked = [after ?? null, rule ?? null, orgId ?? null, limit];
      const rows = await queryRows(pool, HITS, asked);
      return rows.map((row) => ({
        receiptId: row.entry_id,
        orgId: row.org_id,
        organisationName: row.organisation_name,
        keyId: row.key_id,
        model: row.model,
        route: row.route,
        rule: row.refusal_rule,
        at: row.issued_at.getTime(),
      }));
    },
    /** By rule since a time in epoch milliseconds, the most frequent first. */
    async byRule(since: number): Promise<RuleFigures[]> {
      const rows = await queryRows(pool, BY_RULE, [firstReceiptIdAt(since)]);
      return rows.map((row) => ({
        rule: row.refusal_rule,
        hits: Number(row.hits),
        organisations: Number(row.organisations),
        newest: row.newest,
      }));
    },
  };
}
