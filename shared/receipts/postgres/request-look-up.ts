import type { Pool } from 'pg';
import { receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** What support may know of a request: whose it was, when, and what came of it. Never what was said. */
export interface RequestFacts {
  requestId: string;
  receiptId: string;
  orgId: string;
  organisationName: string | null;
  keyId: string | null;
  /** Null once the receipt's body is dropped, as are all that follow but `ledgerIndex` and `revisedBy`. */
  kind: string | null;
  outcome: string | null;
  /** The rule of the screening that blocked it; the caller is not told. */
  refusalRule: string | null;
  tier: string | null;
  model: string | null;
  region: string | null;
  route: string | null;
  /** Epoch milliseconds. */
  issuedAt: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Null until it is integrated. */
  ledgerIndex: number | null;
  /** The receipt that revises it. */
  revisedBy: string | null;
}

const FIND = statement(
  {
    org_id: 'text',
    organisation_name: 'text?',
    key_id: 'text?',
    kind: 'text?',
    outcome: 'text?',
    refusal_rule: 'text?',
    tier: 'text?',
    model: 'text?',
    region: 'text?',
    route: 'text?',
    issued_at: 'timestamptz?',
    input_tokens: 'int8?',
    output_tokens: 'int8?',
    ledger_index: 'int8?',
    revised_by: 'text?',
  },
  `select coalesce(b.org_id, e.org_id) as org_id, a.name as organisation_name, b.key_id, b.kind, b.outcome,
     b.refusal_rule, b.tier, b.model, b.region, b.route, b.issued_at, b.input_tokens, b.output_tokens,
     e.index as ledger_index, v.revision_id as revised_by
   from (select $1::text as id) asked
   left join ledger_body b on b.entry_id = asked.id
   left join ledger_entry e on e.entry_id = asked.id
   left join receipt_revision v on v.original_id = asked.id
   left join account a on a.id = coalesce(b.org_id, e.org_id)
   where b.entry_id is not null or e.entry_id is not null`,
);

/**
 * What is on record of a request, by its id (`req_…`, as callers see it in `x-request-id`), its answer's, its receipt's or
 * the address of that.
 * Null when nothing is: it was refused before it ran, is not over, or never was. For the role `docket_operator`.
 */
export async function findRequest(pool: Pool, id: string): Promise<RequestFacts | null> {
  const receiptId = receiptIdNamed(id);
  if (receiptId === undefined) return null;
  const [row] = await queryRows(pool, FIND, [receiptId]);
  if (row === undefined) return null;
  return {
    requestId: receiptId.replace(/^rcpt_/, 'req_'),
    receiptId,
    orgId: row.org_id,
    organisationName: row.organisation_name,
    keyId: row.key_id,
    kind: row.kind,
    outcome: row.outcome,
    refusalRule: row.refusal_rule,
    tier: row.tier,
    model: row.model,
    region: row.region,
    route: row.route,
    issuedAt: row.issued_at?.getTime() ?? null,
    inputTokens: numberOf(row.input_tokens),
    outputTokens: numberOf(row.output_tokens),
    ledgerIndex: numberOf(row.ledger_index),
    revisedBy: row.revised_by,
  };
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}
